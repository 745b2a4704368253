package prepared

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/hpcenv/hpcenv/envs/materialize"
)

// TestParts: of the groups' parts those of this process's groups are looked at, and
// what lies there is found as elsewhere.
func TestParts(t *testing.T) {
	s := Store{Root: t.TempDir(), Patient: true}
	if parts, err := s.Parts(); len(parts) != 0 || err != nil {
		t.Errorf("a store without any: %v, %v", parts, err)
	}
	mine := strconv.Itoa(os.Getegid())
	for _, name := range []string{"4294967290", mine, "no-number"} {
		put(t, filepath.Join(s.Root, "private", name, "locks", digest, "index.json"), index())
	}
	parts, err := s.Parts()
	if err != nil || len(parts) != 1 || parts[0] != s.Part(mine) {
		t.Fatalf("%+v, %v", parts, err)
	}
	part := parts[0]
	if part.Group != mine || part.Root != filepath.Join(s.Root, "private", mine) || !part.Patient {
		t.Errorf("%+v", part)
	}
	if s.Part("") != s {
		t.Errorf("%+v", s.Part(""))
	}
	e, err := part.Environment(digest, "default")
	if err != nil || e == nil || e.ID != id {
		t.Fatalf("%+v, %v", e, err)
	}
	if e, err := s.Environment(digest, "default"); e != nil || err != nil {
		t.Errorf("in the store itself: %v, %v", e, err)
	}
	put(t, filepath.Join(part.Root, "meta", id, "linux-64.json"), &materialize.Meta{ID: id, Prefix: "/e/" + id})
	put(t, filepath.Join(part.Root, "trees", "linux-64", id, "conda-meta", "history"), "")
	if m, err := part.Published(e, "linux-64"); err != nil || m.Prefix != "/e/"+id {
		t.Errorf("%+v, %v", m, err)
	}
}

package prepared

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

const (
	digest = "d0"
	id     = "0123456789abcdef0123456789abcdef"
)

// put writes a file of a store, as JSON unless it is text.
func put(t *testing.T, path string, v any) {
	t.Helper()
	data, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		data = string(b)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func index() *lockfile.Index {
	return &lockfile.Index{Linker: materialize.LinkerVersion, PrefixRoot: "/e", Scripts: "s", Environments: map[string]lockfile.IndexEnvironment{
		"default": {ID: id, Platforms: []string{"linux-64", "linux-aarch64"}},
		"broken":  {Error: "no"},
	}}
}

func TestEnvironment(t *testing.T) {
	s := Store{Root: t.TempDir()}
	path := filepath.Join(s.Root, "locks", digest, "index.json")
	if e, err := s.Environment(digest, "default"); e != nil || err != nil {
		t.Errorf("an empty store: %v %v", e, err)
	}
	put(t, path, index())
	e, err := s.Environment(digest, "default")
	if err != nil || e.ID != id || e.Scripts != "s" || !slices.Equal(e.Platforms, []string{"linux-64", "linux-aarch64"}) {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := s.Environment(digest, "broken"); e != nil || err != nil {
		t.Errorf("one without an id: %v %v", e, err)
	}
	var unknown *UnknownEnvironmentError
	if _, err := s.Environment(digest, "x"); !errors.As(err, &unknown) || !slices.Equal(unknown.Has, []string{"broken", "default"}) {
		t.Errorf("an unknown one: %v", err)
	}
	if all, err := s.Environments(digest); err != nil || len(all) != 1 || all["default"].ID != id {
		t.Errorf("all: %v %v", all, err)
	}
	old := index()
	old.Linker--
	put(t, path, old)
	if e, err := s.Environment(digest, "default"); e != nil || err != nil {
		t.Errorf("another release's: %v %v", e, err)
	}
	put(t, path, "{")
	if _, err := s.Environment(digest, "default"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged index: %v", err)
	}
}

func TestPublished(t *testing.T) {
	s := Store{Root: t.TempDir()}
	put(t, filepath.Join(s.Root, "locks", digest, "index.json"), index())
	e, err := s.Environment(digest, "default")
	if err != nil {
		t.Fatal(err)
	}
	missing := func(when string) {
		t.Helper()
		if has, err := s.Has(e, "linux-64"); has || err != nil {
			t.Errorf("%s: %v %v", when, has, err)
		}
		if _, err := s.Published(e, "linux-64"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", when, err)
		}
	}
	missing("nothing")
	put(t, filepath.Join(s.Root, "meta", id, "linux-64.json"), &materialize.Meta{ID: id, Prefix: "/e/" + id})
	if has, err := s.Has(e, "linux-64"); has || err == nil {
		t.Errorf("a store without a directory of trees: %v %v", has, err)
	}
	if _, err := s.Published(e, "linux-64"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store without a directory of trees: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(s.Root, "trees", "linux-64"), 0o755); err != nil {
		t.Fatal(err)
	}
	missing("a description alone")
	put(t, filepath.Join(s.Root, "trees", "linux-64", id, "conda-meta", "history"), "")
	if m, err := s.Published(e, "linux-64"); err != nil || m.ID != id {
		t.Errorf("%+v %v", m, err)
	}
	if err := s.Attached(filepath.Join(s.Root, "trees", "linux-64", id)); err != nil {
		t.Error(err)
	}
	if err := s.Attached(filepath.Join(s.Root, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not attached: %v", err)
	}
	put(t, filepath.Join(s.Root, "meta", id, "linux-64.json"), &materialize.Meta{ID: id, Prefix: "/other/" + id})
	if _, err := s.Published(e, "linux-64"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made for another place: %v", err)
	}
}

func TestActivation(t *testing.T) {
	s := Store{Root: t.TempDir()}
	if s.HasActivation(digest, "a") {
		t.Error("it has what is not there")
	}
	put(t, filepath.Join(s.Root, "locks", digest, "activation", "a.json"), "{}")
	if data, err := s.Activation(digest, "a"); !s.HasActivation(digest, "a") || err != nil || string(data) != "{}" {
		t.Errorf("%q %v", data, err)
	}
}

// A name that appears while it is looked for is found, by who is patient.
func TestPatience(t *testing.T) {
	s := Store{Root: t.TempDir()}
	path := filepath.Join(s.Root, "meta", id, "linux-64.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Meta(id, "linux-64"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("at once: %v", err)
	}
	tried, err := 0, error(nil)
	s.Patient = true
	err = s.again(path, func() error {
		if tried++; tried == 2 {
			put(t, path, &materialize.Meta{ID: id})
		}
		_, err := os.Stat(path)
		return err
	})
	if err != nil || tried != 2 {
		t.Errorf("%d tries, %v", tried, err)
	}
	start := time.Now()
	if _, err := s.Meta("absent", "linux-64"); !errors.Is(err, fs.ErrNotExist) || time.Since(start) > time.Minute {
		t.Errorf("what never comes: %v", err)
	}
}

// TestImage: an image is as good as a tree, where images can be mounted.
func TestImage(t *testing.T) {
	s := Store{Root: t.TempDir()}
	put(t, filepath.Join(s.Root, "locks", digest, "index.json"), index())
	put(t, filepath.Join(s.Root, "meta", id, "linux-64.json"), &materialize.Meta{ID: id, Prefix: "/e/" + id})
	put(t, filepath.Join(s.Root, "images", "linux-64", "other.sqfs"), "")
	e, err := s.Environment(digest, "default")
	if err != nil {
		t.Fatal(err)
	}
	if has, err := s.Has(e, "linux-64"); has || err != nil {
		t.Errorf("a description alone, in a store of images: %v %v", has, err)
	}
	put(t, filepath.Join(s.Root, "images", "linux-64", id+".sqfs"), "")
	if has, err := s.Has(e, "linux-64"); !has || err != nil {
		t.Errorf("an image: %v %v", has, err)
	}
	s.TreesOnly = true
	if has, err := s.Has(e, "linux-64"); has || err != nil {
		t.Errorf("an image, where only trees count: %v %v", has, err)
	}
}

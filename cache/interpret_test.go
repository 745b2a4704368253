package cache

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInterpreterReadsAndDecides(t *testing.T) {
	s := newStore(t)
	data := makeConda(t, member{name: "bin/a", body: "#!/old/bin/x /old\n", mode: 0o755}, member{name: "empty"}, member{name: "big", body: strings.Repeat("b", 2<<20)})
	interpret := func(raw *Raw) ([]Entry, json.RawMessage, []string, error) {
		for path, want := range map[string]string{"info/index.json": `{"name":"demo","version":"1"}`, "bin/a": "#!/old/bin/x /old\n", "empty": ""} {
			if got, err := raw.Read(path, 100); string(got) != want || err != nil {
				t.Errorf("Read(%s) = %q, %v", path, got, err)
			}
		}
		if _, err := raw.Read("big", 100); !errors.Is(err, ErrUnsafe) {
			t.Errorf("more than the limit: %v", err)
		}
		if _, err := raw.Read("absent", 100); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("absent: %v", err)
		}
		var out []Entry
		for _, e := range raw.Entries {
			switch e.Path {
			case "bin/a":
				e.Placeholder = "/old"
			case "info/index.json": // content that only waits in memory
				e.Path = "share/index.json"
			}
			out = append([]Entry{e}, out...) // any order
		}
		return out, json.RawMessage(`{"x":1}`), []string{"note"}, nil
	}
	m, err := s.Ingest(context.Background(), writeFile(t, data), sourceOf(data, FormatConda, ""), interpret)
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]Entry{}
	for _, e := range m.Entries {
		byPath[e.Path] = e
	}
	if d := cmp.Diff([]int64{2, 13}, byPath["bin/a"].Offsets); d != "" {
		t.Error(d)
	}
	mustHold(t, s.PoolPath(byPath["share/index.json"].SHA256, false), []byte(`{"name":"demo","version":"1"}`))
	if string(m.Meta) != `{"x":1}` || len(m.Notes) != 1 {
		t.Errorf("got %s, %v", m.Meta, m.Notes)
	}
}

func TestInterpretersThatMustFail(t *testing.T) {
	mine := errors.New("mine")
	data := makeConda(t, member{name: "a", body: "text"}, member{name: "d/x", body: "y"})
	for _, c := range []struct {
		name   string
		change func([]Entry) ([]Entry, error)
		want   error
	}{
		{"its own error", func(e []Entry) ([]Entry, error) { return nil, mine }, mine},
		{"content of elsewhere", func(e []Entry) ([]Entry, error) { e[0].SHA256 = digestOf([]byte("z")); return e, nil }, ErrIntegrity},
		{"one path twice", func(e []Entry) ([]Entry, error) { return append(e, e[0]), nil }, ErrIntegrity},
		{"escaping path", func(e []Entry) ([]Entry, error) { e[0].Path = "../a"; return e, nil }, ErrIntegrity},
		{"placeholder in a link", func(e []Entry) ([]Entry, error) {
			return append(e, Entry{Path: "z", Type: EntryLink, Target: "a", Placeholder: "/old"}), nil
		}, ErrIntegrity},
	} {
		s := newStore(t)
		_, err := s.Ingest(context.Background(), writeFile(t, data), sourceOf(data, FormatConda, ""),
			func(raw *Raw) ([]Entry, json.RawMessage, []string, error) {
				e, err := c.change(raw.Entries)
				return e, nil, nil, err
			})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
		if _, err := s.Manifest(digestOf(data)); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: the package can be seen", c.name)
		}
		emptyDir(t, s, "tmp", "locks")
	}
}

func TestIngestVerifiesTheArchive(t *testing.T) {
	data := makeConda(t, member{name: "a", body: "text"})
	for name, change := range map[string]func(*Source){
		"sha256": func(s *Source) { s.SHA256 = strings.Repeat("0", 64) },
		"size":   func(s *Source) { s.Size++ },
	} {
		src := sourceOf(data, FormatConda, "")
		change(&src)
		_, err := newStore(t).Ingest(context.Background(), writeFile(t, data), src, plain(""))
		if !errors.Is(err, ErrIntegrity) || !strings.Contains(err.Error(), name+" is ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, change := range map[string]func(*Source){
		"no sha256":      func(s *Source) { s.SHA256 = "" },
		"upper case":     func(s *Source) { s.SHA256 = strings.ToUpper(s.SHA256) },
		"path as digest": func(s *Source) { s.SHA256 = "../../etc/passwd" },
		"short md5":      func(s *Source) { s.MD5 = "00" },
		"other format":   func(s *Source) { s.Format = "rpm" },
	} {
		src := sourceOf(data, FormatConda, "https://conda.example/a")
		change(&src)
		s := newStore(t)
		if _, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), src, nil); err == nil || !strings.Contains(err.Error(), "demo-1-0") {
			t.Errorf("%s: fetch: got %v", name, err)
		}
		if _, err := s.Ingest(context.Background(), writeFile(t, data), src, plain("")); err == nil {
			t.Errorf("%s: was taken in", name)
		}
		emptyDir(t, s, "archives")
	}
}

// TestDiscardLeavesNothing: a batch that is given up.
func TestDiscardLeavesNothing(t *testing.T) {
	s := newStore(t)
	data := makeConda(t, member{name: "a", body: "text"})
	st, err := s.Stage(context.Background(), writeFile(t, data), sourceOf(data, FormatConda, ""), plain(""))
	if err != nil {
		t.Fatal(err)
	}
	b := s.NewBatch()
	b.Add(st)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := b.Discard(); err != nil {
		t.Error(err)
	}
	emptyDir(t, s, "tmp", "locks")
	emptyDir(t, s, "pool/packages")
}

// TestRootHandsEverythingToTheOwner: an administrator creates a store for the
// daemon's account, and may work on it too.
func TestRootHandsEverythingToTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT ROOT: run as root to test another owner")
	}
	s, err := Create(filepath.Join(t.TempDir(), "s"), Format{PrefixRoot: "/opt/e", Platforms: []string{"linux-64"}, OwnerUID: 65534})
	if err != nil {
		t.Fatal(err)
	}
	srcs, _ := packages(t, 1, 0)
	if _, _, err := s.Ensure(context.Background(), quick(FetchOptions{}), srcs[0], plain("/placeholder"), nil); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(s.root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if uid := owner(t, path); uid != 65534 {
			t.Errorf("%s belongs to %d", path, uid)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

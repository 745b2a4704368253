package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

// offerPython serves a stand-in for a Python and offers it.
func (w *world) offerPython(version, build, subdir string) {
	short := version[:strings.LastIndexByte(version, '.')]
	p := condatest.Package{Name: "python", Version: version, Build: build, Subdir: subdir, Files: []condatest.File{
		{Path: "bin/python" + short, Content: "#!/bin/sh\n", Exec: true},
	}}
	data := p.Conda(w.t)
	sum := sha256.Sum256(data)
	path := "/" + subdir + "/" + p.Dist() + ".conda"
	w.data[path] = data
	if w.deps.Python == nil {
		w.deps.Python = &pyenv.Offer{}
	}
	w.deps.Python.Interpreters = append(w.deps.Python.Interpreters, python.Interpreter{
		Version: version, Platform: subdir, Kind: python.Conda, URL: w.url + path, SHA256: hex.EncodeToString(sum[:]),
	})
}

// uvLock has one extra for each of n wheels.
func (w *world) uvLock(n int) []byte {
	var extras, entries strings.Builder
	for i := range n {
		wheel := wheeltest.Wheel{Name: fmt.Sprintf("w%d", i), Version: "1", Files: []wheeltest.File{{Path: fmt.Sprintf("w%d.py", i), Content: fmt.Sprint(i)}}}
		data := wheel.Bytes(w.t)
		w.data["/wheels/"+wheel.FileName()] = data
		fmt.Fprintf(&extras, "x%d = [{ name = \"w%d\" }]\n", i, i)
		fmt.Fprintf(&entries, "\n[[package]]\nname = \"w%d\"\nversion = \"1\"\nsource = { registry = \"https://pypi.example/simple\" }\nwheels = [{ url = \"%s/wheels/%s\", hash = \"sha256:%x\" }]\n",
			i, w.url, wheel.FileName(), sha256.Sum256(data))
	}
	return []byte("version = 1\nrequires-python = \">=3.11\"\n\n[[package]]\nname = \"app\"\nversion = \"1\"\nsource = { virtual = \".\" }\n\n[package.optional-dependencies]\n" + extras.String() + entries.String())
}

// However many ask for different parts of one lock at once, the index has them all
// afterwards, and each is found again without reading the lock.
func TestWishesAccumulate(t *testing.T) {
	const n = 6
	w := newWorld(t)
	w.offerPython("3.12.4", "0", "linux-64")
	data := w.uvLock(n)
	var wait sync.WaitGroup
	var digest string
	ids := map[string]bool{}
	var mu sync.Mutex
	for i := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			deps := *w.deps
			res, err := Run(context.Background(), &deps, &Request{Lock: data, Environments: []string{fmt.Sprintf("extra=X%d", i)}, Platforms: []string{"linux-64"}}, nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			digest, ids[res.Environments[0].ID] = res.LockDigest, true
			if e := res.Environments[0]; e.Name != fmt.Sprintf("extra=x%d", i) || !e.New {
				t.Errorf("made %+v", e)
			}
		}()
	}
	wait.Wait()
	index, err := readIndex(w.deps.Store, digest)
	if err != nil || len(index.Environments) != n || len(ids) != n {
		t.Fatalf("%d environments, %d ids, %v", len(index.Environments), len(ids), err)
	}
	// The lock that is kept is not looked at: what is known is told by the index.
	if err := os.WriteFile(filepath.Join(w.deps.Store.LockDir(digest), lockName), nil, 0o444); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	clear(w.hits)
	for i := range n {
		res, err := Run(context.Background(), w.deps, &Request{Lock: data, Environments: []string{fmt.Sprintf("extra=x%d", i)}, Platforms: []string{"linux-64"}}, nil)
		if err != nil || res.PackagesNew != 0 || !ids[res.Environments[0].ID] || res.Environments[0].New {
			t.Errorf("again: %+v, %v", res, err)
		}
	}
	if len(w.hits) > 0 {
		t.Errorf("fetched again: %v", w.hits)
	}
}

// Another list of Pythons makes what is known of a lock void; the same one again
// finds what was made with it.
func TestOtherPythons(t *testing.T) {
	w := newWorld(t)
	data := w.uvLock(1)
	run := func() (*Result, error) {
		return Run(context.Background(), w.deps, &Request{Lock: data, Platforms: []string{"linux-64"}}, nil)
	}
	if _, err := run(); !errors.Is(err, python.ErrInterpreter) {
		t.Fatalf("without a Python: %v", err)
	}
	w.offerPython("3.12.4", "0", "linux-64")
	first, err := run()
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(context.Background(), w.deps.Store, first.Environments[0].Meta)
	if err != nil || !v.Same() || v.NoPlan != "" {
		t.Errorf("verified %+v, %v", v, err)
	}
	before := w.deps.Python
	w.deps.Python = nil
	w.offerPython("3.12.4", "1", "linux-64")
	second, err := run()
	if err != nil || second.Environments[0].ID == first.Environments[0].ID {
		t.Fatalf("%+v, %v", second, err)
	}
	// A newer one that is added is taken where nobody asks for another.
	w.offerPython("3.13.0", "0", "linux-64")
	third, err := run()
	if err != nil || third.Environments[0].ID == second.Environments[0].ID {
		t.Fatalf("%+v, %v", third, err)
	}
	asked, err := Run(context.Background(), w.deps, &Request{Lock: data, Environments: []string{"python=3.12"}, Platforms: []string{"linux-64"}}, nil)
	if err != nil || asked.Environments[0].ID != second.Environments[0].ID || asked.Environments[0].New {
		t.Errorf("python=3.12: %+v, %v", asked, err)
	}
	w.deps.Python = before
	if again, err := run(); err != nil || again.Environments[0].ID != first.Environments[0].ID || again.Environments[0].New {
		t.Errorf("%+v, %v", again, err)
	}
	// Where nobody can fetch, what is there is told whatever is offered here.
	reader := *w.deps
	reader.Fetcher, reader.Python = nil, nil
	if res, err := Run(context.Background(), &reader, &Request{Lock: data, Platforms: []string{"linux-64"}, DryRun: true}, nil); err != nil || res.Environments[0].ID != first.Environments[0].ID {
		t.Errorf("%+v, %v", res, err)
	}
}

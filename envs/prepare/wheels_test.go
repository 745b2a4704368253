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
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

// addPython puts a stand-in for python into the channel.
func (w *world) addPython(subdir string) string {
	return w.addPackage(condatest.Package{Name: "python", Version: "3.11.4", Build: "0", Subdir: subdir, Files: []condatest.File{
		{Path: "bin/python3.11", Content: "#!/bin/sh\n", Exec: true}, {Path: "lib/python3.11/os.py", Content: "import sys\n"},
	}})
}

// addWheel puts a wheel on the server and returns its entry for a lock.
func (w *world) addWheel(wheel wheeltest.Wheel) string {
	data := wheel.Bytes(w.t)
	path := "/wheels/" + wheel.FileName()
	w.data[path] = data
	return wheelEntry(w.url+path, wheel, data)
}

func wheelEntry(location string, wheel wheeltest.Wheel, data []byte) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf("- pypi: %s\n  name: %s\n  version: '%s'\n  sha256: %s\n", location, wheel.Name, wheel.Version, hex.EncodeToString(sum[:]))
}

func someWheel(name, tag string) wheeltest.Wheel {
	return wheeltest.Wheel{Name: name, Version: "1", Tag: tag, Files: []wheeltest.File{{Path: name + ".py", Content: name + tag}},
		Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\n" + name + " = " + name + ":main\n")}}
}

// A lock with conda packages and wheels for two platforms: all is fetched once and
// installed, and what was made is what verifying it says.
func TestWheelsArePrepared(t *testing.T) {
	w := newWorld(t)
	pure := w.addWheel(someWheel("pure", ""))
	req := &Request{Lock: lock(map[string][]string{
		"linux-64":      {w.addPython("linux-64"), pure, w.addWheel(someWheel("native", "cp311-cp311-manylinux_2_17_x86_64"))},
		"linux-aarch64": {w.addPython("linux-aarch64"), w.addWheel(someWheel("native", "cp311-cp311-manylinux_2_17_aarch64"))},
	})}
	dry := *req
	dry.DryRun = true
	res, err := Run(context.Background(), w.deps, &dry, nil)
	if err != nil || res.PackagesNew != 5 || len(res.DryRun.Fetch) != 5 {
		t.Fatalf("dry run: %+v, %v", res, err)
	}
	if res, err = Run(context.Background(), w.deps, req, nil); err != nil {
		t.Fatal(err)
	}
	if res.PackagesNew != 5 || len(res.Environments) != 2 || res.Environments[0].ID != res.Environments[1].ID {
		t.Errorf("result %+v", res)
	}
	for _, e := range res.Environments {
		root := w.deps.Store.TreePath(e.Platform, e.ID)
		tag := map[string]string{"linux-64": "x86_64", "linux-aarch64": "aarch64"}[e.Platform]
		data, err := os.ReadFile(filepath.Join(root, "lib/python3.11/site-packages/native.py"))
		if err != nil || !strings.HasSuffix(string(data), tag) {
			t.Errorf("%s: native.py is %q, %v", e.Platform, data, err)
		}
		_, err = os.Stat(filepath.Join(root, "lib/python3.11/site-packages/pure.py"))
		if has := err == nil; has != (e.Platform == "linux-64") {
			t.Errorf("%s: pure.py: %v", e.Platform, err)
		}
		script, err := os.ReadFile(filepath.Join(root, "bin/native"))
		if want := "#!/opt/e/" + e.ID + "/bin/python3.11\n"; err != nil || !strings.HasPrefix(string(script), want) {
			t.Errorf("%s: bin/native is %q, %v", e.Platform, script, err)
		}
		v, err := Verify(context.Background(), w.deps.Store, e.Meta)
		if err != nil || !v.Same() || v.PlanDigest != v.TreeDigest {
			t.Errorf("%s: verified %+v, %v", e.Platform, v, err)
		}
	}
	for path, n := range w.hits {
		if n != 1 {
			t.Errorf("%s was fetched %d times", path, n)
		}
	}
	// Again, and only known things.
	dry.Lock = append(append([]byte{}, req.Lock...), "# another lock\n"...)
	if res, err = Run(context.Background(), w.deps, &dry, nil); err != nil || res.PackagesNew != 0 || res.PackagesKept != 5 {
		t.Errorf("again: %+v, %v", res, err)
	}
}

// What is known before is known exactly: a dry run of what is in the store takes
// what making it takes.
func TestWheelsDryRunIsExact(t *testing.T) {
	w := newWorld(t)
	py, one := w.addPython("linux-64"), w.addWheel(someWheel("one", ""))
	// Another environment brings the packages into the store.
	if _, err := Run(context.Background(), w.deps, &Request{Lock: lock(map[string][]string{"linux-64": {py, one, w.add("x", "linux-64")}})}, nil); err != nil {
		t.Fatal(err)
	}
	req := &Request{Lock: lock(map[string][]string{"linux-64": {py, one}}), DryRun: true}
	dry, err := Run(context.Background(), w.deps, req, nil)
	if err != nil || dry.DryRun.Environments[0].Estimated {
		t.Fatalf("%+v, %v", dry, err)
	}
	req.DryRun = false
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, m := dry.DryRun.Environments[0], res.Environments[0].Meta
	if d.Inodes != m.Cost.Inodes || d.Bytes != m.Cost.Bytes {
		t.Errorf("a dry run said %d inodes and %d bytes, it took %+v", d.Inodes, d.Bytes, m.Cost)
	}
}

// A wheel that is not what the lock says, or not what it says of itself, is refused
// by name.
func TestBadWheelsAreRefused(t *testing.T) {
	w := newWorld(t)
	py := w.addPython("linux-64")
	good := w.addWheel(someWheel("good", ""))
	other := strings.Replace(good, "sha256: ", "sha256: 00", 1)
	other = other[:len(other)-3] + "\n"
	wrong := someWheel("wrong", "")
	wrong.Record = func(rows []string) []string { rows[0] = wheeltest.Row("wrong.py", "other"); return rows }
	for name, c := range map[string]struct{ entry, says string }{
		"another digest": {other, "the lock says"},
		"RECORD":         {w.addWheel(wrong), "wrong.py is not what RECORD says"},
	} {
		_, err := Run(context.Background(), w.deps, &Request{Lock: lock(map[string][]string{"linux-64": {py, c.entry}})}, nil)
		if !errors.Is(err, cache.ErrIntegrity) && !errors.Is(err, cache.ErrFetch) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), ".whl") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Wheels in local files are handed over, or opened where that is allowed; what
// direct_url.json says does not depend on where the project lies.
func TestLocalWheels(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	wheel := someWheel("loc", "")
	path, _ := wheel.Write(t, dir)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	req := &Request{Lock: lock(map[string][]string{"linux-64": {w.addPython("linux-64"), wheelEntry("./"+wheel.FileName(), wheel, data)}}), Dir: dir}
	_, err = Run(context.Background(), w.deps, req, nil)
	var need *NeedLocalError
	if !errors.As(err, &need) || len(need.Wheels) != 1 || need.Wheels[0].FileName != wheel.FileName() || !strings.Contains(err.Error(), wheel.FileName()) {
		t.Fatalf("got %v", err)
	}
	w.deps.OpenLocal = true
	w.deps.Fetcher = cache.NewFetcher(cache.FetchOptions{AllowFile: true, AllowHost: cache.AllowAny})
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := res.Environments[0]
	direct, err := os.ReadFile(filepath.Join(w.deps.Store.TreePath(e.Platform, e.ID), "lib/python3.11/site-packages/loc-1.dist-info/direct_url.json"))
	if want := `{"url":"file:./loc-1-py3-none-any.whl","archive_info":{}}`; err != nil || string(direct) != want {
		t.Errorf("%s, %v", direct, err)
	}
}

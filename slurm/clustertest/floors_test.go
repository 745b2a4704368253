//go:build cluster

package clustertest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/elftest"
)

// floors are what a library of a floor-project asks for, though no package says so.
var floors = map[string]elftest.Spec{
	"glibc": {SOName: "libfresh.so", Needed: []string{"libc.so.6"}, Needs: []elftest.Need{{Library: "libc.so.6", Names: []string{"GLIBC_2.17", "GLIBC_2.35"}}}, Align: 65536},
	"pages": {SOName: "libfresh.so", Needed: []string{"libc.so.6"}, Needs: []elftest.Need{{Library: "libc.so.6", Names: []string{"GLIBC_2.17"}}}, Align: 4096},
}

// cmdFloorProject: floor-project glibc|pages DIR: a project of two environments for
// x86-64 in DIR, owned by the first user. In default is a library that asks for more of a
// node than its package says; other has none. The program which-one of each tells which
// it is.
func (c *cluster) cmdFloorProject(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 || floors[args[0]].SOName == "" {
			ts.Fatalf("usage: floor-project glibc|pages DIR")
		}
		program := func(says string) condatest.File {
			return condatest.File{Path: "bin/which-one", Exec: true, Content: "#!/bin/sh\necho $(hostname) " + says + " " + args[0] + "\n"}
		}
		packages := []condatest.Package{
			{Name: "fresh", Version: "1.2", Build: args[0], Files: []condatest.File{program("fresh"), {Path: "lib/libfresh.so", Content: string(floors[args[0]].Make())}}},
			{Name: "plain", Version: "1.0", Build: args[0], Files: []condatest.File{program("plain")}},
		}
		c.smallProject(t, ts, args[1], map[string][]condatest.Package{"default": packages[:1], "other": packages[1:]},
			"#!/bin/bash\n#SBATCH --env-lock=.\nwhich-one\nsrun -n1 which-one\n")
	}
}

// smallProject makes a project for x86-64 in dir, owned by the first user: a lock with
// these environments, whose packages are served until the story ends, and job.sh.
func (c *cluster) smallProject(t *testing.T, ts *testscript.TestScript, dir string, envs map[string][]condatest.Package, job string) {
	archives := map[string][]byte{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := archives[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if _, err := w.Write(data); err != nil {
			t.Log(err) // a client that left
		}
	}))
	ts.Defer(srv.Close)
	var environments, records strings.Builder
	for _, name := range slices.Sorted(maps.Keys(envs)) {
		fmt.Fprintf(&environments, "  %s:\n    channels:\n    - url: %s/\n    packages:\n      linux-64:\n", name, srv.URL)
		for _, p := range envs[name] {
			path := "/linux-64/" + p.Dist() + ".conda"
			data := p.Conda(t)
			archives[path] = data
			fmt.Fprintf(&environments, "      - conda: %s%s\n", srv.URL, path)
			fmt.Fprintf(&records, "- conda: %s%s\n  sha256: %x\n  size: %d\n", srv.URL, path, sha256.Sum256(data), len(data))
		}
	}
	dir = ts.MkAbs(dir)
	for name, text := range map[string]string{
		"pixi.lock": "version: 6\nenvironments:\n" + environments.String() + "packages:\n" + records.String(),
		"job.sh":    job,
	} {
		ts.Check(os.MkdirAll(dir, 0o755))
		ts.Check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	ts.Check(chownTree(dir, user1))
}

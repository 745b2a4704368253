//go:build cluster

package clustertest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// smokePlatforms with the compiler for each.
var smokePlatforms = []struct{ subdir, cc string }{{"linux-64", "gcc"}, {"linux-aarch64", "aarch64-linux-gnu-gcc"}}

// cmdSmokeProject: smoke-project DIR: a project in DIR with the demo's Python and
// NumPy and two packages for each platform, owned by the first user, until the story
// ends. Of frail, frail_here cannot be imported on aarch64, and frail_crash ends the
// process everywhere; transport has two modules of UCX, of which libuct_lacks.so needs
// a library that nobody has.
func (c *cluster) cmdSmokeProject(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: smoke-project DIR")
		}
		demo, err := c.channelTool("path").Output()
		ts.Check(err)
		archives := map[string][]byte{}
		disk := http.StripPrefix("/conda-forge", http.FileServer(http.Dir(strings.TrimSpace(string(demo)))))
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, ok := archives[r.URL.Path]
			if !ok {
				disk.ServeHTTP(w, r)
				return
			}
			if _, err := w.Write(data); err != nil {
				t.Log(err) // a client that left
			}
		}))
		ts.Defer(srv.Close)
		w := &mixedLock{url: srv.URL, blocks: map[string]string{}}
		demoLock, err := os.ReadFile(filepath.Join(c.projects, "pixi.lock"))
		ts.Check(err)
		ts.Check(w.takePython(demoLock))
		var lock, records bytes.Buffer
		fmt.Fprintf(&lock, "version: 6\nenvironments:\n  default:\n    channels:\n    - url: %s/conda-forge/\n    packages:\n", srv.URL)
		seen := map[string]bool{}
		for _, p := range smokePlatforms {
			fmt.Fprintf(&lock, "      %s:\n", p.subdir)
			for _, url := range w.python[p.subdir] {
				fmt.Fprintf(&lock, "      - conda: %s\n", url)
				if !seen[url] {
					seen[url] = true
					fmt.Fprintf(&records, "- conda: %s\n%s\n", url, w.blocks[url])
				}
			}
			for _, pkg := range smokePackages(t, p.subdir, p.cc) {
				data, path := pkg.Conda(t), "/own/"+p.subdir+"/"+pkg.Dist()+".conda"
				archives[path] = data
				fmt.Fprintf(&lock, "      - conda: %s%s\n", srv.URL, path)
				fmt.Fprintf(&records, "- conda: %s%s\n  sha256: %x\n  size: %d\n", srv.URL, path, sha256.Sum256(data), len(data))
			}
		}
		dir := ts.MkAbs(args[0])
		ts.Check(os.MkdirAll(dir, 0o755))
		ts.Check(os.WriteFile(filepath.Join(dir, "pixi.lock"), append(append(lock.Bytes(), "packages:\n"...), records.Bytes()...), 0o644))
		ts.Check(chownTree(dir, user1))
	}
}

// smokePackages for a platform.
func smokePackages(t *testing.T, subdir, cc string) []condatest.Package {
	here := "\n"
	if subdir == "linux-aarch64" {
		here = "raise ImportError('libelsewhere.so.3: cannot open shared object file: No such file or directory')\n"
	}
	dir := t.TempDir()
	compile := func(out string, args ...string) string {
		path := filepath.Join(dir, out)
		cmd := exec.Command(cc, append([]string{"-shared", "-fPIC", "-nostdlib", "-o", path, "-xc", "-"}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader("int transport(void) { return 1; }\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", cc, err, out)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	compile("libnobody.so.9", "-Wl,-soname,libnobody.so.9")
	lacks := compile("libuct_lacks.so", "-xnone", "-Wl,--no-as-needed", "libnobody.so.9")
	return []condatest.Package{
		{Name: "frail", Version: "2.1", Build: "0", Subdir: subdir, Files: []condatest.File{
			{Path: site + "frail_here/__init__.py", Content: here},
			{Path: site + "frail_crash.py", Content: "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"},
		}},
		{Name: "transport", Version: "1.0", Build: "0", Subdir: subdir, Files: []condatest.File{
			{Path: "lib/ucx/libuct_good.so", Content: compile("libuct_good.so"), Exec: true},
			{Path: "lib/ucx/libuct_lacks.so", Content: lacks, Exec: true},
		}},
	}
}

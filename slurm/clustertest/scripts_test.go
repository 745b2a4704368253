//go:build cluster

package clustertest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// cmdBuildAccount: build-account DIR: a project in DIR whose lock has a package with a
// post-link script, for both architectures, a daemon that allows it and hands it over,
// and the second user as the build account, whose agent submits jobs to n1 and a1,
// until the story ends.
func (c *cluster) cmdBuildAccount(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: build-account DIR")
		}
		p := condatest.Package{Name: "scripted", Version: "1", Build: "0", Files: []condatest.File{
			{Path: "share/scripted", Content: "as it was\n"},
			{Path: "bin/.scripted-post-link.sh", Content: "set -e\necho made by $PKG_NAME on $(uname -m) > $PREFIX/share/made\n! [ -e " + c.store + " ]\n! [ -e /home ]\necho set up > $PREFIX/.messages.txt\n"},
		}}
		data := p.Conda(t)
		p.Subdir = "linux-aarch64"
		archives := map[string][]byte{"/linux-64/" + p.Dist() + ".conda": data, "/linux-aarch64/" + p.Dist() + ".conda": p.Conda(t)}
		url := c.packagesProject(t, ts, ts.MkAbs(args[0]), archives, nil)
		c.startBuildAccount(ts, fmt.Sprintf("scripts:\n  allow:\n  - {channel: %q, package: scripted}\n  job_platforms: [linux-64, linux-aarch64]\n", url), "")
	}
}

// packagesProject serves archives (by path: /SUBDIR/NAME) until the story ends, and makes
// a project in dir whose lock has them all in its default environment, or those that
// environments says (environment → paths). It returns the channel's URL.
func (c *cluster) packagesProject(t *testing.T, ts *testscript.TestScript, dir string, archives map[string][]byte, environments map[string][]string) string {
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
	ts.Check(os.MkdirAll(dir, 0o755))
	if environments == nil {
		environments = map[string][]string{"default": slices.Sorted(maps.Keys(archives))}
	}
	lock := "version: 6\nenvironments:\n"
	for _, name := range slices.Sorted(maps.Keys(environments)) {
		lock += fmt.Sprintf("  %s:\n    channels:\n    - url: %s/\n    packages:\n", name, srv.URL)
		for _, subdir := range []string{"linux-64", "linux-aarch64"} {
			of := ""
			for _, path := range environments[name] {
				if is := strings.Split(path, "/")[1]; is == subdir || is == "noarch" && subdir == "linux-64" {
					of += fmt.Sprintf("      - conda: %s%s\n", srv.URL, path)
				}
			}
			if of != "" {
				lock += "      " + subdir + ":\n" + of
			}
		}
	}
	lock += "packages:\n"
	locked := slices.Concat(slices.Collect(maps.Values(environments))...)
	for _, path := range slices.Compact(slices.Sorted(slices.Values(locked))) {
		data := archives[path]
		lock += fmt.Sprintf("- conda: %s%s\n  sha256: %x\n  size: %d\n", srv.URL, path, sha256.Sum256(data), len(data))
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "pixi.lock"), []byte(lock), 0o644))
	ts.Check(chownTree(dir, user1))
	return srv.URL
}

// startBuildAccount restarts the daemon with scripts (lines of the configuration that end
// with its group "scripts:", to which the spool is added) and more, and makes the second
// user the build account, until the story ends.
func (c *cluster) startBuildAccount(ts *testscript.TestScript, scripts, more string) {
	daemon, err := user.Lookup("hpcenvd")
	ts.Check(err)
	build, err := user.Lookup(user2)
	ts.Check(err)
	spool := filepath.Join(c.state, "work", "script-spool")
	ts.Check(os.Mkdir(spool, 0o750))
	ts.Defer(func() { ts.Check(os.RemoveAll(spool)) })
	uid, err := strconv.Atoi(daemon.Uid)
	ts.Check(err)
	gid, err := strconv.Atoi(build.Gid)
	ts.Check(err)
	ts.Check(os.Chown(spool, uid, gid))
	ts.Check(os.Chmod(spool, 0o750|os.ModeSetgid))

	file := filepath.Join(c.state, "etc/hpcenvd.more.yaml")
	before, err := os.ReadFile(file)
	ts.Check(err)
	restart := func(conf []byte) {
		ts.Check(c.devcluster("daemon", "stop").Run())
		ts.Check(os.WriteFile(file, conf, 0o644))
		ts.Check(c.devcluster("daemon", "start").Run())
	}
	restart(fmt.Appendf(before, "%s  spool: %s\n  wait: 2m\n%s", scripts, spool, more))
	ts.Defer(func() { restart(before) })

	agent := c.devcluster("exec", "--as", user2, "--cwd", "/", "--", c.helper, "build-agent", "--spool", spool, "--store", c.nodeStore, "--program", c.helper,
		"--platform", "linux-64=--partition=all --nodelist=n1", "--platform", "linux-aarch64=--partition=all --nodelist=a1")
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log strings.Builder
	agent.Stdout, agent.Stderr = &log, &log
	ts.Check(agent.Start())
	ts.Defer(func() {
		ts.Check(syscall.Kill(-agent.Process.Pid, syscall.SIGTERM))
		ts.Check(ignoreExit(agent.Wait()))
		ts.Logf("agent: %s", log.String())
	})
}

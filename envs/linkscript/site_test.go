//go:build linux

package linkscript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/sandbox"
)

const overlay = "/opt/hpcenv/e/fedcba9876543210fedcba9876543210"

// newSite is a place whose environment is published, and a site's task for it.
func newSite(t *testing.T, kind, command string) *place {
	t.Helper()
	p := newPlace(t, "")
	trees := filepath.Join(p.root, "store", "trees", linkscript.HostPlatform())
	at := filepath.Join(trees, filepath.Base(prefix))
	for _, err := range []error{
		os.MkdirAll(trees, 0o755), os.Rename(p.tree, at), os.WriteFile(filepath.Join(at, "conda-meta", "history"), nil, 0o644),
		os.Mkdir(filepath.Join(p.root, "empty"), 0o755), os.Mkdir(filepath.Join(p.root, "source"), 0o755),
		os.WriteFile(filepath.Join(p.root, "source", "extra"), []byte("from the sources\n"), 0o644),
		os.WriteFile(filepath.Join(p.root, "of-the-node"), []byte("of the node\n"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.tree = at
	p.task.Script = linkscript.Script{Package: "wrapper", Version: "2", Kind: kind, Path: "wrapper"}
	p.task.Prefix, p.task.Tree, p.task.Source, p.task.Store = overlay, filepath.Join(p.root, "empty"), filepath.Join(p.root, "source"), filepath.Join(p.root, "store")
	p.task.Site = &linkscript.Site{
		Environment: filepath.Base(prefix), EnvPrefix: prefix, Argv: []string{"bash", "-c", command},
		Env: []string{"HPCENV_MPI=openmpi"}, Paths: []string{filepath.Join(p.root, "of-the-node"), "/this/node/has/not"},
	}
	return p
}

// A build sees the environment at its prefix, the node's programs, its sources and the
// paths that the site names; what it leaves at the overlay's own path is its result.
func TestSiteBuild(t *testing.T) {
	p := newSite(t, linkscript.SiteBuild, "")
	p.task.Site.Argv = []string{"bash", "-c", `set -e
[ "$PREFIX" = ` + prefix + ` ] && [ "$OVERLAY" = ` + overlay + ` ] && [ "$HPCENV_MPI" = openmpi ] && [ -z "$SECRET" ]
[ "${PATH%%:*}" = /usr/local/bin ]; tool
mkdir $OVERLAY/lib; cat $PREFIX/share/linked $SOURCES/extra ` + p.task.Site.Paths[0] + ` > $OVERLAY/lib/all
ln $OVERLAY/lib/all $OVERLAY/lib/hard; ln -s all $OVERLAY/lib/link; ln -s $OVERLAY/lib $OVERLAY/abs
cd /tmp/build; echo scratch > left
echo made`}
	t.Setenv("SECRET", "s3cret")
	o := p.run()
	if o.Failed != "" {
		t.Fatalf("%s\n%s", o.Failed, o.Output)
	}
	all := `"as it was\nfrom the sources\nof the node\n"`
	want := "link abs → " + overlay + "/lib\ndir lib\nfile lib/all " + all + "\nfile lib/hard " + all + "\nlink lib/link → all\n"
	if got := lines(o); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if o.Output != "tool\nmade" {
		t.Errorf("printed %q", o.Output)
	}
	p.untouched2()
}

// untouched2 is untouched for a place whose environment is published.
func (p *place) untouched2() {
	p.t.Helper()
	p.untouched()
	if data, err := os.ReadFile(filepath.Join(p.tree, "share", "linked")); err != nil || string(data) != "as it was\n" {
		p.t.Errorf("the environment holds %q, %v", data, err)
	}
}

// An environment that is there as an image only is unpacked for the job, and for nobody
// else; an image that is not the published one is not.
func TestSiteBuildFromImage(t *testing.T) {
	tool := image.NewTool("")
	if err := tool.Available(t.Context()); err != nil {
		t.Skipf("NO MKSQUASHFS ON THIS HOST: this test was not run: %v", err)
	}
	p := newSite(t, linkscript.SiteBuild, "tool; cp $PREFIX/share/linked $OVERLAY/x; touch $PREFIX/x && exit 9; exit 0")
	id, platform := filepath.Base(prefix), linkscript.HostPlatform()
	at, meta := filepath.Join(p.task.Store, "images", platform, id+cache.ImageSuffix), filepath.Join(p.task.Store, "meta", id)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.MkdirAll(meta, 0o755)); err != nil {
		t.Fatal(err)
	}
	rec, err := tool.Build(t.Context(), image.Job{Tree: p.tree, Out: at})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"image": rec})
	if err = errors.Join(err, os.WriteFile(filepath.Join(meta, platform+".json"), text, 0o644), os.Rename(p.tree, filepath.Join(p.root, "elsewhere"))); err != nil {
		t.Fatal(err)
	}
	again := *p.task
	if o := p.run(); o.Failed != "" || !strings.HasPrefix(lines(o), `file x "as it was`) || !strings.HasPrefix(o.Output, "tool") {
		t.Errorf("failed %q: %s\n%s", o.Failed, lines(o), o.Output)
	}
	if err := errors.Join(os.Truncate(at, rec.Size-4096), linkscript.RemoveAll(again.Scratch), os.Mkdir(again.Scratch, 0o700)); err != nil {
		t.Fatal(err)
	}
	_, err = local(t).Run(t.Context(), &again)
	if !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), "bytes, it was published with") {
		t.Errorf("a damaged image: %v", err)
	}
}

// What a build must not do it cannot, and what it must not leave makes it a failed one.
func TestSiteBuildIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ command, failed string }{
		"network":          {`python3 -c 'import socket; socket.socket()' && exit 9; echo > /dev/tcp/127.0.0.1/22 && exit 9; : > $OVERLAY/x`, ""},
		"the environment":  {`touch $PREFIX/x && exit 9; echo >> $PREFIX/share/linked && exit 9; mv $PREFIX/bin/tool /tmp && exit 9; : > $OVERLAY/x`, ""},
		"the store":        {`[ -e STORE ] && exit 9; : > $OVERLAY/x`, ""},
		"the node":         {`touch /usr/x NODE $SOURCES/x /opt/hpcenv/e/x && exit 9; [ -e /home ] && exit 9; [ -e /etc/passwd ] && exit 9; : > $OVERLAY/x`, ""},
		"a hard link":      {`ln $PREFIX/share/linked $OVERLAY/x && exit 9; ln /usr/bin/env $OVERLAY/y && exit 9; : > $OVERLAY/x`, ""},
		"a device":         {`mknod $OVERLAY/x b 8 0 && exit 9; : > $OVERLAY/x`, ""},
		"a link out":       {`ln -s /etc/passwd $OVERLAY/x`, "a link out of the prefix"},
		"a link up":        {`ln -s ../other/lib $OVERLAY/x`, "a link out of the prefix"},
		"set-user-id":      {`cp /usr/bin/env $OVERLAY/x; chmod u+s $OVERLAY/x`, "set-user-id"},
		"a pipe":           {`mkfifo $OVERLAY/x && exit 9; python3 -c 'import os; os.mkfifo("x")' && exit 9; : > $OVERLAY/x`, ""},
		"too many files":   {`for i in $(seq 900); do : > $OVERLAY/$i; done`, "at most 500"},
		"too many bytes":   {`head -c 40M /dev/zero > $OVERLAY/x`, ""},
		"what it exits by": {`exit 7`, "exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, linkscript.SiteBuild, "")
			p.task.Site.Argv = []string{"bash", "-c", strings.NewReplacer("STORE", p.task.Store, "NODE", p.task.Site.Paths[0]).Replace(c.command)}
			o := p.run()
			if name == "too many bytes" {
				if o.Failed == "" {
					t.Errorf("it was not stopped: %s", lines(o))
				}
				return
			}
			if c.failed == "" && o.Failed != "" || !strings.Contains(o.Failed, c.failed) || o.Failed != "" && len(o.Changes) > 0 {
				t.Errorf("failed %q, want %q; %s\n%s", o.Failed, c.failed, lines(o), o.Output)
			}
			p.untouched2()
		})
	}
}

// A node that answers the probe otherwise than the one that was asked does not build.
func TestSiteProbe(t *testing.T) {
	p := newSite(t, linkscript.SiteProbe, "echo gcc 12; : > $OVERLAY/x")
	if o := p.run(); o.Failed != "" || o.Output != "gcc 12" {
		t.Errorf("%+v", o)
	}
	for identity, ok := range map[string]bool{"gcc 12": true, "gcc 13": false} {
		p := newSite(t, linkscript.SiteBuild, ": > $OVERLAY/x")
		p.task.Site.Probe, p.task.Site.Identity = []string{"echo", "gcc 12"}, identity
		o, err := local(t).Run(context.Background(), p.task)
		if ok && (err != nil || o.Failed != "") || !ok && (!errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), `answers the probe ["echo" "gcc 12"] with "gcc 12"`)) {
			t.Errorf("%s: %+v %v", identity, o, err)
		}
	}
}

// The whole way: task, spool, the build account's side, answer.
func TestSiteBuildBySpool(t *testing.T) {
	local(t)
	p := newSite(t, linkscript.SiteBuild, "cat $PREFIX/share/linked $SOURCES/extra > $OVERLAY/x; seq 20000")
	o, err := p.spool(func(dir string) error {
		return linkscript.Serve(context.Background(), sandbox.New(), dir, p.root, filepath.Join(p.root, "store"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if lines(o) != "file x \"as it was\\nfrom the sources\\n\"\n" || !strings.HasPrefix(o.Output, "1\n2\n") || !strings.HasSuffix(o.Output, "\n20000") {
		t.Errorf("%s, %d bytes printed", lines(o), len(o.Output))
	}
	// Without the store, and nowhere attached, it is not a build's failure.
	p = newSite(t, linkscript.SiteBuild, ": > $OVERLAY/x")
	_, err = p.spool(func(dir string) error {
		err := linkscript.Serve(context.Background(), sandbox.New(), dir, p.root, "")
		if !errors.Is(err, linkscript.ErrCannotRun) {
			return fmt.Errorf("got %w", err)
		}
		return linkscript.Refuse(dir, err)
	})
	if !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), "neither at its prefix nor in the store") {
		t.Errorf("got %v", err)
	}
}

// A task of a site shows no more than it may.
func TestSiteTasksAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(s *linkscript.Site){
		"no command":    func(s *linkscript.Site) { s.Argv = nil },
		"environment":   func(s *linkscript.Site) { s.Environment = "../x" },
		"prefix":        func(s *linkscript.Site) { s.EnvPrefix = "x" },
		"relative path": func(s *linkscript.Site) { s.Paths = []string{"etc"} },
		"the root":      func(s *linkscript.Site) { s.Paths = []string{"/"} },
		"a way up":      func(s *linkscript.Site) { s.Paths = []string{"/etc/../root"} },
	} {
		p := newSite(t, linkscript.SiteBuild, ":")
		spoil(p.task.Site)
		if o, err := local(t).Run(context.Background(), p.task); !errors.Is(err, linkscript.ErrCannotRun) {
			t.Errorf("%s: %+v %v", name, o, err)
		}
	}
	for args, ok := range map[string]bool{
		"--partition=all --constraint=ss11&gpu": true, "--output=/etc/x": false, "--partition": false, "all": false, "--constraint=": false, "--uid=0": false,
	} {
		if err := linkscript.CheckSbatch(strings.Fields(args)); (err == nil) != ok {
			t.Errorf("%s: %v", args, err)
		}
	}
}

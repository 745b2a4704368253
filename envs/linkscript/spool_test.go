//go:build linux

package linkscript_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/sandbox"
)

// spool is one whose tasks answer serves; it is called once a task is complete.
func (p *place) spool(answer func(dir string) error) (*linkscript.Outcome, error) {
	p.t.Helper()
	s := &linkscript.Spool{Dir: filepath.Join(p.root, "spool"), Platforms: []string{linkscript.HostPlatform()}, Wait: 20 * time.Second}
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.task.Limits.Time = time.Second
	served := make(chan error, 1)
	go func() {
		for {
			dirs, err := filepath.Glob(filepath.Join(s.Dir, "script-*/task.json"))
			if err != nil || len(dirs) == 1 {
				served <- errors.Join(err, answer(filepath.Dir(dirs[0])))
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	o, err := s.Run(context.Background(), p.task)
	if err := <-served; err != nil {
		p.t.Fatal(err)
	}
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) > 0 {
		p.t.Errorf("left in the spool: %v %v", left, err)
	}
	return o, err
}

// A script that ran elsewhere gives what it gives here.
func TestElsewhereAsHere(t *testing.T) {
	local(t)
	script := `set -e
echo more >> $PREFIX/share/linked; rm $PREFIX/share/gone; mkdir $PREFIX/new; cp $PREFIX/bin/tool $PREFIX/new/tool; ln -s tool $PREFIX/new/l; : > $PREFIX/empty
echo hello > $PREFIX/.messages.txt; echo evil > $PREFIX/conda-meta/x-1-0.json`
	here, there := newPlace(t, script), newPlace(t, script)
	want := here.run()
	got, err := there.spool(func(dir string) error {
		return linkscript.Serve(context.Background(), sandbox.New(), dir, there.root, "")
	})
	if err != nil {
		t.Fatal(err)
	}
	if lines(got) != lines(want) || got.Messages != "hello" || len(got.Ignored) != 1 || want.Failed != "" {
		t.Errorf("there\n%s%+v\nhere\n%s%+v", lines(got), got, lines(want), want)
	}
	there.untouched()
}

// Nothing of an answer is believed.
func TestAnswersAreVerified(t *testing.T) {
	answer := func(s string) func(string) error {
		return func(out string) error {
			return errors.Join(os.WriteFile(filepath.Join(out, "content.tar"), nil, 0o644), os.WriteFile(filepath.Join(out, "outcome.json"), []byte(s), 0o644))
		}
	}
	change := func(s string) func(string) error { return answer(`{"changes":[` + s + `]}`) }
	for name, c := range map[string]struct {
		do   func(out string) error
		want string
	}{
		"escaping path": {change(`{"path":"../../x","kind":"dir"}`), "left a path"},
		"absolute path": {change(`{"path":"/etc/x","kind":"dir"}`), "left a path"},
		"twice":         {change(`{"path":"a","kind":"dir"},{"path":"a","kind":"dir"}`), "not in order"},
		"below a link":  {change(`{"path":"a","kind":"link","target":"share"},{"path":"a/b","kind":"dir"}`), "below what is no directory"},
		"link out":      {change(`{"path":"a","kind":"link","target":"/etc"}`), "out of the prefix"},
		"record":        {change(`{"path":"conda-meta/x-1-0.json","kind":"gone"}`), "not its to change"},
		"other kind":    {change(`{"path":"a","kind":"device"}`), "unknown kind"},
		"too much":      {change(`{"path":"a","kind":"file","size":99999999999,"sha256":"00"}`), "are allowed"},
		"no contents":   {change(`{"path":"a","kind":"file","size":3,"sha256":"00"}`), "contents of the build job"},
		"negative size": {change(`{"path":"a","kind":"file","size":-5,"sha256":"00"}`), "size"},
		"no JSON":       {answer("\x00"), "answer of the build job"},
		"a link":        {func(out string) error { return os.Symlink("/etc/passwd", filepath.Join(out, "outcome.json")) }, "too many levels"},
		"a pipe":        {func(out string) error { return syscall.Mkfifo(filepath.Join(out, "outcome.json"), 0o666) }, "no regular file"},
		"it could not": {func(out string) error {
			return os.WriteFile(filepath.Join(out, "error"), []byte("no \033[2Jnode"), 0o644)
		}, "did not run: no ?[2Jnode"},
		"a script's failure": {answer(`{"failed":"exit 3","output":"\u001b]0;x","changes":[{"path":"../x","kind":"dir"}]}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "")
			o, err := p.spool(func(dir string) error { return c.do(filepath.Join(dir, "out")) })
			if c.want == "" {
				if err != nil || o.Failed != "exit 3" || len(o.Changes) > 0 || strings.Contains(o.Output, "\033") {
					t.Errorf("%+v %v", o, err)
				}
				return
			}
			if !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want %q", o, err, c.want)
			}
		})
	}
}

// Where nobody serves the spool, the wait ends.
func TestNobodyServes(t *testing.T) {
	p := newPlace(t, "")
	s := &linkscript.Spool{Dir: t.TempDir(), Platforms: []string{p.task.Platform}, Wait: 300 * time.Millisecond}
	p.task.Limits.Time = 100 * time.Millisecond
	if _, err := s.Run(context.Background(), p.task); !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), "is the build account's service running?") {
		t.Errorf("got %v", err)
	}
}

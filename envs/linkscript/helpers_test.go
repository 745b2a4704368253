//go:build linux

package linkscript_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/sandbox"
)

const prefix = "/opt/hpcenv/e/0123456789abcdef0123456789abcdef"

// small are bounds that a test reaches quickly.
var small = linkscript.Limits{Time: 20 * time.Second, Memory: 512 << 20, Processes: 24, Bytes: 16 << 20, Inodes: 500}

// local is the runner of this host; without a sandbox the test is skipped.
func local(t testing.TB) *linkscript.Local {
	t.Helper()
	l := linkscript.NewLocal(sandbox.New())
	if err := l.CanRun(linkscript.HostPlatform()); err != nil {
		if os.Getenv(inUnit) != "" {
			t.Fatalf("under the unit's restrictions: %v", err)
		}
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	return l
}

// place is a staged environment with a script, and the pool that its files are
// linked from.
type place struct {
	t                *testing.T
	root, tree, pool string
	task             *linkscript.Task
}

func newPlace(t *testing.T, script string) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{t: t, root: root, tree: filepath.Join(root, "tree"), pool: filepath.Join(root, "pool")}
	if err := os.Mkdir(p.pool, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"share/linked": "as it was\n", "share/gone": "x", "lib/a/one": "1", "conda-meta/x-1-0.json": "{}\n", "bin/.x-post-link.sh": script, "bin/tool": "#!/bin/sh\necho tool\n",
	} {
		pool := filepath.Join(p.pool, strings.ReplaceAll(name, "/", "_"))
		mode := os.FileMode(0o444)
		if strings.HasPrefix(name, "bin/tool") {
			mode = 0o555
		}
		if err := os.WriteFile(pool, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(p.tree, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(pool, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("linked", filepath.Join(p.tree, "share/link")); err != nil {
		t.Fatal(err)
	}
	p.task = &linkscript.Task{
		Script: linkscript.Script{Package: "x", Version: "1.2", BuildNumber: 3, Kind: linkscript.PostLink, Path: "bin/.x-post-link.sh"},
		Prefix: prefix, Platform: linkscript.HostPlatform(), Tree: p.tree, Scratch: filepath.Join(root, "scratch"), Limits: small,
	}
	if err := os.Mkdir(p.task.Scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := linkscript.RemoveAll(p.task.Scratch); err != nil {
			t.Errorf("what the script left cannot be removed: %v", err)
		}
	})
	return p
}

func (p *place) run() *linkscript.Outcome {
	p.t.Helper()
	o, err := local(p.t).Run(context.Background(), p.task)
	if err != nil {
		p.t.Fatal(err)
	}
	return o
}

// untouched: the staged tree and the pool are as they were.
func (p *place) untouched() {
	p.t.Helper()
	for name, want := range map[string]string{"share_linked": "as it was\n", "lib_a_one": "1"} {
		at := filepath.Join(p.pool, name)
		data, err := os.ReadFile(at)
		if err != nil || string(data) != want {
			p.t.Errorf("%s holds %q, %v", at, data, err)
		}
		if st, err := os.Stat(at); err != nil || st.Mode() != 0o444 {
			p.t.Errorf("%s: %v %v", at, st.Mode(), err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(p.tree, "share"))
	if err != nil || len(entries) != 3 {
		p.t.Errorf("the staged tree changed: %v, %v", entries, err)
	}
}

// running finds processes with this text among their arguments.
func running(t testing.TB, text string) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if data, err := os.ReadFile(p); err == nil && strings.Contains(string(data), text) && !strings.Contains(p, fmt.Sprintf("/%d/", os.Getpid())) {
			pids = append(pids, p)
		}
	}
	return pids
}

// ended waits a moment for all processes with this text to be gone.
func ended(t testing.TB, text string) {
	t.Helper()
	var left []string
	for range 40 {
		if left = running(t, text); len(left) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("still running: %v", left)
}

// lines are an outcome's changes, one line each.
func lines(o *linkscript.Outcome) string {
	var b strings.Builder
	for _, c := range o.Changes {
		fmt.Fprintf(&b, "%s %s", c.Kind, c.Path)
		if c.Exec {
			b.WriteString(" x")
		}
		if c.Target != "" {
			b.WriteString(" → " + c.Target)
		}
		if c.Kind == linkscript.File {
			data, err := os.ReadFile(c.Content)
			if err != nil {
				data = []byte(err.Error())
			}
			fmt.Fprintf(&b, " %q", data)
		}
		b.WriteString("\n")
	}
	return b.String()
}

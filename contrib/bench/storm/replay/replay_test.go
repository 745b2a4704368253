package replay

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
)

// TestMain is also the program that is traced: it replays a trace below a folder.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "replay" {
		f, err := os.Open(os.Args[2])
		if err == nil {
			var t *trace.Trace
			if t, err = trace.Parse(f); err == nil {
				var r *Replay
				if r, err = New(t, os.Args[3]); err == nil {
					err = r.Run()
				}
			}
		}
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func prefix(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib", "big"), make([]byte, 50000), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("lib/big", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

const cloexec = syscall.O_CLOEXEC

// all has each kind of operation.
func all() *trace.Trace {
	return &trace.Trace{Ops: []trace.Op{
		{Kind: trace.Stat, Path: "link"}, {Kind: trace.Lstat, Path: "link"}, {Kind: trace.Stat, Path: "lib/../gone", Err: syscall.ENOENT},
		{Kind: trace.Access, Path: "lib", Flags: 5}, {Kind: trace.Readlink, Path: "link"}, {Kind: trace.Readlink, Path: "lib", Err: syscall.EINVAL},
		{Kind: trace.Open, Path: "lib", Flags: cloexec | syscall.O_DIRECTORY}, {Kind: trace.List, Size: 32768}, {Kind: trace.List, Size: 32768},
		{Kind: trace.Open, Path: "lib/big/x", Flags: cloexec, Err: syscall.ENOTDIR},
		{Kind: trace.Open, Path: "link", File: 1, Flags: cloexec}, {Kind: trace.Fstat, File: 1}, {Kind: trace.ReadFile, File: 1, Size: 832},
		{Kind: trace.ReadAt, File: 1, Size: 100, Offset: 40000}, {Kind: trace.Seek, File: 1, Size: -10, Offset: 2},
		{Kind: trace.ReadFile, File: 1, Size: 64}, {Kind: trace.Touch, File: 1, Pages: []trace.Run{{First: 0, Count: 2}, {First: 12, Count: 1}}},
		{Kind: trace.Close, File: 1}, {Kind: trace.Close}, {Kind: trace.Stat, Path: "."},
	}}
}

// TestSameOperations: a replay that is traced gives the trace that it replays.
func TestSameOperations(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("STRACE IS MISSING: install it to test that a replay does what was recorded")
	}
	dir, work := prefix(t), t.TempDir()
	want := all()
	file, out := filepath.Join(work, "trace"), filepath.Join(work, "out")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(want.Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-o", out}, trace.Strace()...)
	if said, err := exec.Command(strace, append(args, self, "replay", file, dir)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	data, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	got, err := trace.FromStrace(data, dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Ops {
		want.Ops[i].Pages = nil // strace does not see them
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the replay does something else (-want +got):\n%s", diff)
	}
}

func TestAnotherCopyIsNoticed(t *testing.T) {
	dir := prefix(t)
	r, err := New(all(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gone"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err = r.Run()
	if err == nil || !strings.Contains(err.Error(), "lib/../gone") || !strings.Contains(err.Error(), "operation 2") {
		t.Errorf("a file more: %v", err)
	}
}

// TestPageThatIsNotThere: a file that is shorter than the recorded one is an
// error, not the end of the process.
func TestPageThatIsNotThere(t *testing.T) {
	dir := prefix(t)
	r, err := New(all(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "lib", "big"), 45000); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(); err == nil || !strings.Contains(err.Error(), "touch link") {
		t.Errorf("a shorter file: %v", err)
	}
}

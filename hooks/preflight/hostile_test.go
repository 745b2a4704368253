package preflight_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// bounded makes the checks with a time limit and fails if they do not keep to it.
func bounded(t *testing.T, w *world, limit time.Duration) *preflight.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out := make(chan *preflight.Report, 1)
	go func() { out <- preflight.Run(ctx, w.in, true) }()
	select {
	case r := <-out:
		return r
	case <-time.After(limit + 20*time.Second):
		t.Fatal("the checks do not end")
	}
	return nil
}

// deaf is a file system that never answers a lookup until it is released.
type deaf struct {
	fs.Inode
	release chan struct{}
}

func (d *deaf) Lookup(context.Context, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	<-d.release
	return nil, syscall.ENOENT
}

// TestHangingLibraryPath: a directory that never answers is no reason to hang, nor one not
// to run.
func TestHangingLibraryPath(t *testing.T) {
	w := newWorld(t)
	w.lib("/usr/lib/libfirst.so.1")
	w.python("libfirst.so.1")
	w.survey()
	at := filepath.Join(w.root, "hangs")
	w.check(os.Mkdir(at, 0o755))
	root := &deaf{release: make(chan struct{})}
	server, err := fs.Mount(at, root, &fs.Options{})
	if err != nil {
		t.Skipf("FUSE CANNOT BE USED: %v", err)
	}
	defer func() {
		close(root.release)
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	}()
	w.env["LD_LIBRARY_PATH"] = "/hangs/lib"
	r := bounded(t, w, 200*time.Millisecond)
	if r.Level() != preflight.Unknown || !strings.Contains(r.Findings[len(r.Findings)-1].Next, "LD_LIBRARY_PATH") {
		t.Errorf("%+v", r)
	}
}

// TestOddLibraries: pipes, devices, directories, loops and empty files by the name of a
// library are not waited for.
func TestOddLibraries(t *testing.T) {
	for name, place := range map[string]func(string) error{
		"pipe":      func(at string) error { return syscall.Mkfifo(at, 0o644) },
		"device":    func(at string) error { return os.Symlink("/dev/zero", at) },
		"directory": func(at string) error { return os.Mkdir(at, 0o755) },
		"loop":      func(at string) error { return os.Symlink(filepath.Base(at), at) },
		"empty":     func(at string) error { return os.WriteFile(at, nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.lib("/usr/lib/libfirst.so.1")
			w.python("libfirst.so.1")
			w.survey()
			w.check(os.Mkdir(filepath.Join(w.root, "odd"), 0o755))
			w.check(os.MkdirAll(filepath.Join(w.root, "dev"), 0o755))
			w.check(os.WriteFile(filepath.Join(w.root, "dev/zero"), nil, 0o644))
			w.check(place(filepath.Join(w.root, "odd/libfirst.so.1")))
			w.env["LD_LIBRARY_PATH"] = "/odd"
			for _, f := range bounded(t, w, time.Minute).At(preflight.Unknown) {
				if f.Level == preflight.Unknown {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestLongLibraryPath: messages stay short and printable whatever variables and files are
// called.
func TestLongLibraryPath(t *testing.T) {
	w := newWorld(t)
	w.lib("/usr/lib/libfirst.so.1")
	w.python("libfirst.so.1")
	w.lib("/site/libfirst.so.1", "libx\x1b[2J\nnode.so")
	w.survey()
	var dirs []string
	for i := range 10000 {
		dirs = append(dirs, fmt.Sprintf("/none/\x1b]0;%d", i))
	}
	w.env["LD_LIBRARY_PATH"] = strings.Join(append(dirs, "/site"), ":")
	r := bounded(t, w, time.Minute)
	if r.Level() != preflight.Unfit {
		t.Errorf("%s", r.Level())
	}
	for _, f := range r.Findings {
		for _, text := range append([]string{f.Evidence, f.Next, f.File}, f.Packages...) {
			if len(text) > 5000 {
				t.Errorf("%s: a text of %d bytes", f.ID, len(text))
			}
			if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%s: %q", f.ID, text)
			}
		}
	}
}

// TestScriptMaySetVariables: what hangs on variables is a warning to a job's script, and
// to a shell, which may set them before they start programs.
func TestScriptMaySetVariables(t *testing.T) {
	for _, who := range []func(*preflight.Input){
		func(in *preflight.Input) { in.Script = true },
		func(in *preflight.Input) { in.Command = "/bin/bash" },
	} {
		w := newWorld(t)
		w.python("libgone.so.3")
		w.want("program", preflight.Unfit, "libgone.so.3")
		who(w.in)
		w.want("program", preflight.Warn, "libgone.so.3", "unless variables are set")

		w = newWorld(t)
		w.survey()
		w.in.Needs.Stack.Family = stack.GASNet
		w.want("gasnet", preflight.Unfit)
		w.env["SLURM_JOB_ID"] = "7"
		w.want("gasnet", preflight.Warn, "on one node")
		w.in.MultiNode = true
		w.want("gasnet", preflight.Unfit)
		w.env["LEGATE_MPI_WRAPPER"] = "/site/none.so"
		w.want("mpi-wrapper", preflight.Unfit)
		who(w.in)
		w.want("gasnet", preflight.Warn)
		w.want("mpi-wrapper", preflight.Warn)
	}
	w := newWorld(t)
	w.python("libgone.so.3")
	w.survey()
	w.env["LD_PRELOAD"] = "/site/libgone.so.3"
	w.want("program", preflight.Warn, "LD_PRELOAD")
}

// TestStepWithoutGPU: a step that Slurm gave no GPU is not refused for one that is lost,
// even if the environment is one for GPUs.
func TestStepWithoutGPU(t *testing.T) {
	w := newWorld(t)
	w.survey()
	w.in.Needs.Stack.GPU = true
	lost := 3
	w.in.GPU = &gpu.Record{Report: &gpu.Report{Driver: "550.54.15"},
		Verdict: gpu.Verdict{Level: gpu.Unhealthy, Findings: []gpu.Finding{{ID: "gpu-lost", Level: gpu.Unhealthy, GPU: &lost, Next: "reboot", Act: gpu.Administrator}}}}
	w.want("gpu-lost", preflight.Unhealthy)
	w.env["SLURM_JOB_ID"] = "7"
	w.want("gpu-lost", preflight.Unhealthy) // Slurm may not count them
	w.env["SLURM_JOB_GPUS"] = "0,1"
	w.want("gpu-lost", preflight.Warn, "given no GPU")
	w.env["CUDA_VISIBLE_DEVICES"] = "0"
	w.want("gpu-lost", preflight.Unhealthy)
	delete(w.env, "CUDA_VISIBLE_DEVICES")
	w.in.WantsGPU = true
	w.want("gpu-lost", preflight.Unhealthy)
}

// TestUnreadFacts: what an overloaded node could not read of itself in time is not
// missing there.
func TestUnreadFacts(t *testing.T) {
	w := newWorld(t)
	w.survey()
	w.in.Needs.Locked = []requirement.Requirement{
		{Spec: "__glibc >=2.28", Source: requirement.Depends}, {Spec: "__linux >=3.10", Source: requirement.Depends},
		{Spec: "__archspec 1 x86_64_v2", Source: requirement.Depends},
	}
	w.in.Facts.Glibc = ""
	w.want("glibc", preflight.Unfit)
	w.in.Facts.CPU, w.in.Facts.Kernel = facts.CPU{}, ""
	w.in.Facts.Problems = []string{"processor: no answer: context deadline exceeded", "glibc: no answer: context deadline exceeded", "kernel: no answer: context deadline exceeded"}
	for _, id := range []string{"glibc", "kernel", "microarchitecture"} {
		for _, f := range w.found(id) {
			if f.Level != preflight.Fits {
				t.Errorf("%+v", f)
			}
		}
	}
}

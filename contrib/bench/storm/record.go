package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
)

// furtherModules that the recorded process imports beside NumPy.
const furtherModules = "300"

//go:embed choose.py
var choosePy []byte

// enterSh is what precedes each rank in a prefix of pixi: what `pixi run` and
// conda's activation read of the project and the prefix before they start the
// program. pixi itself reads more when its own caches are cold.
//
//go:embed enter.sh
var enterSh []byte

// pythonEnv is the environment of each Python: small, the same for all.
func pythonEnv() []string {
	return []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1",
		"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
	}
}

func (w *world) treeTrace() string { return w.path("tree.trace") }
func (w *world) pixiTrace() string { return w.path("pixi.trace") }

// record makes the traces: of Python in a tree, and of the same in a prefix of
// pixi's with what precedes it.
func (w *world) record(ctx context.Context) error {
	for name, data := range map[string][]byte{"choose.py": choosePy, "enter.sh": enterSh} {
		if err := os.WriteFile(w.path(name), data, 0o644); err != nil {
			return err
		}
	}
	start := w.path("start.py")
	if err := w.onDisk(func(at string) error {
		choose := exec.CommandContext(ctx, at+"/bin/python3", w.path("choose.py"), furtherModules, start)
		choose.Env = pythonEnv()
		said, err := choose.Output()
		if err != nil {
			return fmt.Errorf("choose modules: %w", err)
		}
		w.modules, w.program = strings.TrimSpace(string(said)), []string{start}
		return nil
	}); err != nil {
		return err
	}
	// The prefix is read for the first time, and nothing is read ahead: what is in
	// memory afterwards was touched.
	if err := w.onDisk(func(at string) error { return w.recordTree(ctx, at) }); err != nil {
		return err
	}
	return w.recordPixi(ctx)
}

// onDisk does something with the prefix mounted at its place, from the host's own disk.
func (w *world) onDisk(do func(at string) error) error {
	at := w.node.prefix()
	if err := mountDisk(w.path("floor.ext4"), at); err != nil {
		return err
	}
	return errors.Join(do(at), unmount(at))
}

func (w *world) recordTree(ctx context.Context, at string) error {
	restore, err := noReadAhead(at)
	if err != nil {
		return err
	}
	data, err := w.strace(ctx, append([]string{at + "/bin/python3"}, w.program...)...)
	if err = errors.Join(err, restore()); err != nil {
		return err
	}
	if w.trace, err = trace.FromStrace(bytes.NewReader(data), at); err != nil {
		return err
	}
	if err := fillTouched(w.trace, at); err != nil {
		return err
	}
	return writeTrace(w.trace, w.treeTrace())
}

// recordPixi records the same start entered as pixi does. What it touches of
// mapped files is as in the tree.
func (w *world) recordPixi(ctx context.Context) error {
	project := w.stored(storedPixi)
	data, err := w.strace(ctx, append([]string{"/bin/bash", w.path("enter.sh"), project}, w.program...)...)
	if err != nil {
		return err
	}
	t, err := trace.FromStrace(bytes.NewReader(data), project)
	if err != nil {
		return err
	}
	touched := map[string][]trace.Run{}
	for i, file := range w.trace.Files() {
		if w.trace.Ops[i].Kind == trace.Touch {
			touched[file] = w.trace.Ops[i].Pages
		}
	}
	for i, file := range t.Files() {
		if t.Ops[i].Kind == trace.Touch {
			t.Ops[i].Pages = touched[strings.TrimPrefix(file, ".pixi/envs/default/")]
		}
	}
	return writeTrace(t, w.pixiTrace())
}

// strace is what it says of a program.
func (w *world) strace(ctx context.Context, program ...string) ([]byte, error) {
	out := w.path("strace.out")
	args := append([]string{"strace", "-o", out}, trace.Strace()...)
	if err := command(ctx, pythonEnv(), append(args, program...)...); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// noReadAhead makes the kernel read only what is asked for of the file system at
// dir, until restore is called.
func noReadAhead(dir string) (restore func() error, err error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return nil, err
	}
	file := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev))
	old, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(file, old, 0o644) }, os.WriteFile(file, []byte("0"), 0o644)
}

// fillTouched sets the pages of t's Touches to those that are in memory.
func fillTouched(t *trace.Trace, root string) error {
	for i, file := range t.Files() {
		if t.Ops[i].Kind != trace.Touch {
			continue
		}
		pages, err := resident(root + "/" + file)
		if err != nil {
			return fmt.Errorf("%s: which pages are in memory: %w", file, err)
		}
		t.Ops[i].Pages = pages
	}
	return nil
}

func writeTrace(t *trace.Trace, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(t.Write(f), f.Close())
}

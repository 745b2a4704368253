// Command pycbench measures how long byte-code takes that no store has yet,
// against python -m compileall -j0 on the same files with the same Python.
//
// Enters: a folder of conda packages with a python among them (the demo
// channel). Leaves: a table and figure lines. Both contenders run in turn, in
// one run, on one file system; what they made is removed after each round.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"crypto/sha256"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/internal/figure"
)

func main() {
	channel := flag.String("channel", "", "folder of packages (contrib/demo/channel.sh path)")
	dir := flag.String("dir", "", "directory to work in; default: a temporary one")
	rounds := flag.Int("rounds", 5, "how often each contender runs")
	flag.Parse()
	code, err := run(context.Background(), *channel, *dir, *rounds)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pycbench:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

func run(ctx context.Context, channel, dir string, rounds int) (code int, err error) {
	work, err := os.MkdirTemp(dir, "pycbench-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	w := &world{root: filepath.Join(work, "store"), tree: filepath.Join(work, "tree")}
	if err := w.prepare(ctx, channel); err != nil {
		return 0, err
	}
	// The contender's own modules are compiled already: its start is not what is
	// measured.
	w.runner = filepath.Join(work, "runner")
	if out, err := exec.CommandContext(ctx, "cp", "-a", w.tree, w.runner).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("copy of the tree: %w: %s", err, out)
	}
	if _, err := w.compileall(ctx, w.runner, true); err != nil {
		return 0, err
	}
	var ours, theirs []time.Duration
	for i := range rounds {
		a, err := w.build(ctx)
		if err != nil {
			return 0, err
		}
		b, err := w.compileall(ctx, w.tree, false)
		if err != nil {
			return 0, err
		}
		fmt.Printf("round %d: hpcenv %.2f s, compileall %.2f s\n", i+1, a.Seconds(), b.Seconds())
		ours, theirs = append(ours, a), append(theirs, b)
	}
	r := figure.NewReport(os.Stdout)
	a, b := figure.Median(ours), figure.Median(theirs)
	r.Note("link.bytecode.files", float64(w.files), "files")
	r.Note("link.bytecode.hpcenv", a.Seconds(), "s")
	r.Note("link.bytecode.compileall", b.Seconds(), "s")
	r.AtMost("link.bytecode.vs_compileall", a.Seconds()/b.Seconds(), "ratio", 1.1)
	return r.ExitCode(), nil
}

// world is a store with packages, and a tree of the same Python files.
type world struct {
	root, tree string
	runner     string // a copy of tree with byte-code: the contender's Python
	files      int
	python     *bytecode.Interpreter
	packages   []bytecode.Package
}

func (w *world) prepare(ctx context.Context, channel string) error {
	store, err := cache.Create(w.root, cache.Format{Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		return err
	}
	for _, pattern := range []string{"linux-64/*.conda", "linux-64/*.tar.bz2", "noarch/*.conda", "noarch/*.tar.bz2"} {
		found, err := filepath.Glob(filepath.Join(channel, pattern))
		if err != nil {
			return err
		}
		for _, archive := range found {
			if err := w.take(ctx, store, archive); err != nil {
				return err
			}
		}
	}
	if w.python == nil {
		return fmt.Errorf("%q has no package python for linux-64", channel)
	}
	return nil
}

// take takes a package in and puts what python needs of it into the tree.
func (w *world) take(ctx context.Context, store *cache.Store, archive string) error {
	data, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	src := cache.Source{Name: filepath.Base(archive), URL: "file://" + archive, SHA256: hex.EncodeToString(sum[:]), Format: cache.FormatTarBz2}
	if strings.HasSuffix(archive, ".conda") {
		src.Format = cache.FormatConda
	}
	m, err := store.Ingest(ctx, archive, src, conda.Interpret)
	if err != nil {
		return err
	}
	meta, err := conda.DecodeMeta(m.Meta)
	if err != nil {
		return err
	}
	if meta.Name == "python" {
		w.python = &bytecode.Interpreter{Version: meta.Version, Packages: []*cache.Manifest{m}}
	}
	pkg := bytecode.Package{SHA256: m.SHA256, Label: src.Name}
	for _, e := range m.Entries {
		at := e.Path
		if rest, ok := strings.CutPrefix(at, "site-packages/"); ok {
			at = "lib/python3.11/site-packages/" + rest
		}
		if e.Type == cache.EntryDir || strings.HasSuffix(at, ".pyc") || !strings.HasPrefix(at, "lib/") && !strings.HasPrefix(at, "bin/python") {
			continue
		}
		if err := place(store, e, filepath.Join(w.tree, at)); err != nil {
			return err
		}
		if e.Type == cache.EntryFile && strings.HasSuffix(at, ".py") && strings.HasPrefix(at, "lib/python3.11/") {
			pkg.Sources = append(pkg.Sources, bytecode.Source{Entry: e})
			w.files++
		}
	}
	w.packages = append(w.packages, pkg)
	return nil
}

func place(store *cache.Store, e cache.Entry, at string) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(at); err == nil {
		return nil // another package has it too
	}
	if e.Type == cache.EntryLink {
		return os.Symlink(e.Target, at)
	}
	in, err := store.OpenEntry(e)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	mode := os.FileMode(0o644)
	if e.Exec {
		mode = 0o755
	}
	out, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// build is hpcenv's turn: into a store that has the sources and no byte-code,
// durable at the end.
func (w *world) build(ctx context.Context) (time.Duration, error) {
	store, err := cache.Open(w.root) // as a new process has it
	if err != nil {
		return 0, err
	}
	if err := store.Sync(); err != nil {
		return 0, err
	}
	begin := time.Now()
	res, err := bytecode.Build(ctx, store, &bytecode.Request{Interpreter: w.python, Packages: w.packages, Sandbox: bytecode.NewSandbox()})
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	if res.Compiled == 0 || len(res.Lost) > 0 {
		return 0, fmt.Errorf("compiled %d, lost %q", res.Compiled, res.Lost)
	}
	for _, rows := range res.Rows {
		for _, r := range rows {
			if r.Code == "" {
				continue
			}
			if err := os.Remove(store.PoolPath(r.Code, false)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return 0, err
			}
		}
	}
	tables, err := filepath.Glob(store.PycPath("*", "*"))
	for _, t := range tables {
		err = errors.Join(err, os.Remove(t))
	}
	return took, err
}

// compileall is the contender's turn. What it makes is removed, unless keep.
func (w *world) compileall(ctx context.Context, tree string, keep bool) (time.Duration, error) {
	lib := filepath.Join(tree, "lib", "python3.11")
	cmd := exec.CommandContext(ctx, filepath.Join(w.runner, "bin", "python3.11"), "-m", "compileall", "-q", "-j0", lib)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"}
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	var failed *exec.ExitError
	if err != nil && !(errors.As(err, &failed) && strings.Contains(string(out), "SyntaxError")) {
		return 0, fmt.Errorf("compileall: %w: %s", err, out)
	}
	n := 0
	err = filepath.WalkDir(lib, func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".pyc") {
			return err
		}
		if n++; keep {
			return nil
		}
		return os.Remove(p)
	})
	if err == nil && n < w.files/2 {
		err = fmt.Errorf("compileall made %d files of %d", n, w.files)
	}
	return took, err
}

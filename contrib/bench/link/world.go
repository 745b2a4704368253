package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/contrib/bench/link/stack"
	"github.com/hpcenv/hpcenv/internal/figure"
)

// world is what the rows share.
type world struct {
	o              *options
	self           string   // this program
	before         []string // what starts it
	srv            *server
	main, plain    *stack.Channel
	spec           stack.Spec
	report         *figure.Report
	lines          strings.Builder // of the figures, printed after the table
	table          [][3]string
	row            string
	profiles       int
	peak           int64
	peakRow        string
	variant        int
	warmTree, base string // a finished tree; the store with all packages
}

// bench measures the rows.
func bench(ctx context.Context, o *options) (code int, err error) {
	if o.python == "" || o.work == "" {
		return 0, errors.New("-python and -work are needed")
	}
	b := &world{o: o, spec: stack.Python()}
	if o.tiny {
		b.spec = stack.Tiny()
	}
	b.report = figure.NewReport(&b.lines)
	if b.self, err = os.Executable(); err != nil {
		return 0, err
	}
	if b.main, b.plain, err = channels(o); err != nil {
		return 0, err
	}
	if b.srv, err = serve(o.channel); err != nil {
		return 0, err
	}
	defer b.srv.http.Close()
	if o.work, err = os.MkdirTemp(o.work, "run-"); err != nil {
		return 0, err
	}
	defer func() {
		if rerr := os.RemoveAll(o.work); err == nil {
			err = rerr
		}
	}()
	if err := b.prepareBase(ctx); err != nil {
		return 0, err
	}
	for _, row := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"cold", b.cold}, {"warm", b.warm}, {"changed", b.changed}, {"again", b.again}, {"syscalls", b.syscalls},
		{"parallel", b.parallel}, {"memory", b.memory},
	} {
		if !o.wants(row.name) {
			continue
		}
		b.row = row.name
		fmt.Fprintf(os.Stderr, "%s …\n", row.name)
		if err := row.do(ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", row.name, err)
		}
	}
	b.print()
	return b.report.ExitCode(), nil
}

func (b *world) print() {
	w := [2]int{}
	for _, l := range b.table {
		w[0], w[1] = max(w[0], len([]rune(l[0]))), max(w[1], len([]rune(l[1])))
	}
	for _, l := range b.table {
		fmt.Printf("%-*s  %*s  %s\n", w[0], l[0], w[1], l[1], l[2])
	}
	fmt.Println()
	fmt.Print(b.lines.String())
}

// line adds a line to the table.
func (b *world) line(what, value, note string) {
	b.table = append(b.table, [3]string{what, value, note})
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// times of one contender's turns.
type times struct{ took, cpu []time.Duration }

func (t *times) add(turn turn) {
	t.took, t.cpu = append(t.took, turn.took), append(t.cpu, turn.cpu)
}

func (t *times) text() string {
	return fmt.Sprintf("%s (CPU %.3f s)", seconds(figure.Median(t.took)), figure.Median(t.cpu).Seconds())
}

func ratio(a, b []time.Duration) float64 {
	return figure.Median(a).Seconds() / figure.Median(b).Seconds()
}

// environment is the whole stack, as a new environment each time.
func (b *world) environment() env { return b.environmentOf(b.spec.Name, b.main.Packages) }

func (b *world) environmentOf(channel string, pkgs []stack.Package) env {
	b.variant++
	return env{channel: b.srv.url + "/" + channel, packages: pkgs, variant: b.variant}
}

func (b *world) path(name string) string { return filepath.Join(b.o.work, name) }

// prepareBase fills the store that the rows with cached packages use, and checks
// that the tree is what the benchmark promises.
func (b *world) prepareBase(ctx context.Context) error {
	b.row, b.base = "base", b.path("store")
	t, err := b.ours(ctx, b.base, b.environment(), "-volatile")
	if err != nil {
		return err
	}
	b.warmTree = t.Tree
	shape, err := stack.Measure(t.Tree)
	if err != nil {
		return err
	}
	if err := b.spec.Check(shape); err != nil {
		return err
	}
	b.line("generated tree", fmt.Sprintf("%d files", shape.Files), fmt.Sprintf(
		"%d packages, %.1f files per directory, %.1f%% empty, %d patched, median %d B, 99th percentile %d B, %d MB",
		len(b.main.Packages), float64(shape.Files)/float64(shape.Dirs), 100*float64(shape.Empty)/float64(shape.Files),
		b.main.PatchedFiles, shape.Median, shape.P99, shape.Bytes/1e6))
	return nil
}

// remove removes paths and waits until that is written out.
func (b *world) remove(paths ...string) error {
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			return err
		}
	}
	b.settle()
	return nil
}

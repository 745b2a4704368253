package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/internal/figure"
)

// cold: nothing is cached. Ours without syncs and with them, and the reference.
func (b *world) cold(ctx context.Context) error {
	var fast, durable, reference times
	for range b.o.runs {
		e := b.environment()
		b.settle()
		t, err := b.ours(ctx, b.path("cold"), e, "-volatile")
		if err != nil {
			return err
		}
		fast.add(t)
		if err := b.remove(b.path("cold")); err != nil {
			return err
		}
		if t, err = b.rattler(ctx, b.path("cold-cache"), b.path("cold-prefix"), e); err != nil {
			return err
		}
		reference.add(t)
		if err := b.remove(b.path("cold-cache"), b.path("cold-prefix")); err != nil {
			return err
		}
		if t, err = b.ours(ctx, b.path("cold"), e); err != nil {
			return err
		}
		durable.add(t)
		if err := b.remove(b.path("cold")); err != nil {
			return err
		}
	}
	b.line("cold, not durable", fast.text(), "the whole process, without byte-code and syncs")
	b.line("cold, durable", durable.text(), "with all syncs")
	b.line("cold, py-rattler", reference.text(), "its install() alone; it makes nothing durable")
	b.report.AtMost("link.cold.vs_rattler", ratio(fast.took, reference.took), "ratio", 0.9)
	b.report.Note("link.cold.durable_vs_rattler", ratio(durable.took, reference.took), "ratio")
	return nil
}

// warm: the packages are cached, the environment is new.
func (b *world) warm(ctx context.Context) error {
	cache := b.path("warm-cache")
	if _, err := b.rattler(ctx, cache, b.path("prefix"), b.environment()); err != nil {
		return err
	}
	if err := b.remove(b.path("prefix")); err != nil {
		return err
	}
	var mine, durable, reference, copied times
	for range b.o.runs {
		e := b.environment()
		b.settle()
		t, err := b.ours(ctx, b.base, e, "-volatile")
		if err != nil {
			return err
		}
		if !t.New {
			return fmt.Errorf("environment %s was there already", t.ID)
		}
		mine.add(t)
		if err := b.remove(t.Tree); err != nil {
			return err
		}
		if t, err = b.rattler(ctx, cache, b.path("prefix"), e); err != nil {
			return err
		}
		reference.add(t)
		if err := b.remove(b.path("prefix")); err != nil {
			return err
		}
		var c turn
		if _, err := b.command(ctx, &c, "cp", "-al", b.warmTree, b.path("copy")); err != nil {
			return err
		}
		copied.add(c)
		if err := b.remove(b.path("copy")); err != nil {
			return err
		}
		if t, err = b.ours(ctx, b.base, b.environment()); err != nil {
			return err
		}
		durable.add(t)
		if err := b.remove(t.Tree); err != nil {
			return err
		}
	}
	if err := b.remove(cache); err != nil {
		return err
	}
	b.line("warm, not durable", mine.text(), "the whole process, without syncs")
	b.line("warm, durable", durable.text(), "with all syncs")
	b.line("warm, py-rattler", reference.text(), "its install() alone")
	b.line("warm, cp -al", copied.text(), "of the finished tree")
	b.report.AtMost("link.warm.vs_rattler", ratio(mine.took, reference.took), "ratio", 0.5)
	b.report.AtMost("link.warm.vs_cp_al", ratio(mine.took, copied.took), "ratio", 0.7)
	return nil
}

// changed: one package of all is another version, which is not cached.
func (b *world) changed(ctx context.Context) error {
	var warm, changed times
	for i := range b.o.runs {
		b.settle()
		t, err := b.ours(ctx, b.base, b.environment(), "-volatile")
		if err != nil {
			return err
		}
		warm.add(t)
		if err := b.remove(t.Tree); err != nil {
			return err
		}
		e := b.environment()
		next := b.main.Changed[i%len(b.main.Changed)]
		e.packages = append(e.packages[:0:0], e.packages...)
		for j, p := range e.packages {
			if p.Name == next.Name {
				e.packages[j] = next
			}
		}
		b.srv.taken()
		if t, err = b.ours(ctx, b.base, e, "-volatile"); err != nil {
			return err
		}
		if asked := b.srv.taken(); i < len(b.main.Changed) && (len(asked) != 1 || asked[next.File] != 1) {
			return fmt.Errorf("only %s was to be downloaded, asked for was %v", next.File, asked)
		}
		changed.add(t)
		if err := b.remove(t.Tree); err != nil {
			return err
		}
	}
	b.line("one package changed", changed.text(), "downloads that package only; warm beside it: "+warm.text())
	b.report.AtMost("link.changed.vs_warm", ratio(changed.took, warm.took), "ratio", 1.1)
	return nil
}

// again: everything is there, nothing is written.
func (b *world) again(ctx context.Context) error {
	e := b.environment()
	first, err := b.ours(ctx, b.base, e)
	if err != nil {
		return err
	}
	before, err := snapshot(b.base)
	if err != nil {
		return err
	}
	var took []time.Duration
	for range 3 * b.o.runs {
		t, err := b.ours(ctx, b.base, e)
		if err != nil {
			return err
		}
		if t.New || t.ID != first.ID {
			return fmt.Errorf("environment %s was made again", t.ID)
		}
		took = append(took, t.took)
	}
	after, err := snapshot(b.base)
	if err != nil {
		return err
	}
	if diff := differences(before, after); diff != "" {
		return fmt.Errorf("written, though all was there: %s", diff)
	}
	b.line("same id again", seconds(figure.Median(took)), "the whole process; nothing is written")
	b.report.AtMost("link.again", float64(figure.Median(took).Microseconds())/1000, "ms", 20)
	return b.remove(first.Tree)
}

// memory: packages whose decoders need a large window, several at once. The
// peak of all rows is what counts.
func (b *world) memory(ctx context.Context) error {
	var wide []env
	if b.o.tiny {
		wide = nil
	} else {
		wide = append(wide, b.environmentOf(b.spec.Name, b.main.Wide[:1]),
			b.environmentOf(b.spec.Name, b.main.Wide), b.environment())
		wide[2].packages = append(wide[2].packages[:len(wide[2].packages):len(wide[2].packages)], b.main.Wide...)
	}
	for _, e := range wide {
		t, err := b.ours(ctx, b.path("wide"), e, "-volatile")
		if err != nil {
			return err
		}
		b.line(fmt.Sprintf("memory, %d packages", len(e.packages)), fmt.Sprintf("%.0f MB", float64(t.rss)/1e6), "of those that need a window of 128 MiB, and others")
		if err := b.remove(b.path("wide")); err != nil {
			return err
		}
	}
	b.line("memory, peak of all", fmt.Sprintf("%.0f MB", float64(b.peak)/1e6), "resident; row "+b.peakRow)
	b.report.AtMost("link.memory", float64(b.peak)/1e6, "MB", 256)
	return nil
}

// snapshot is every path of a store with its size and change times, trees not
// entered.
func snapshot(root string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		out[path] = fmt.Sprint(st.Size(), st.ModTime(), changeTime(st))
		if d.IsDir() && filepath.Dir(filepath.Dir(path)) == filepath.Join(root, "trees") {
			return filepath.SkipDir
		}
		return nil
	})
	return out, err
}

func differences(a, b map[string]string) string {
	for path, was := range a {
		if b[path] != was {
			return path
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			return path
		}
	}
	return ""
}

func look(name string) error {
	_, err := exec.LookPath(name)
	return err
}

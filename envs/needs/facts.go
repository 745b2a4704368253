package needs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/elf"
)

// fact is what is known of a content that begins as an ELF file: facts, or the problem of
// a broken file.
type fact struct {
	Content string
	Facts   *elf.Facts
	Problem string
}

// factsOf returns the facts of each package's ELF files by content. nil stands for a
// package whose files are not all in the pool, so that nothing is known of it.
func factsOf(ctx context.Context, store *cache.Store, packages []*Package) (map[*Package]map[string]fact, error) {
	out := make(map[*Package]map[string]fact, len(packages))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(8, 2*runtime.GOMAXPROCS(0)))
	for _, p := range packages {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			facts, err := factsOfOne(store, p.Manifest)
			if errors.Is(err, cache.ErrNotFound) {
				facts, err = nil, nil
			}
			if err != nil {
				return fmt.Errorf("ELF files of %s: %w", p.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			out[p] = facts
			return nil
		})
	}
	return out, group.Wait()
}

// factsOfOne reads a package's facts, or its files.
func factsOfOne(store *cache.Store, m *cache.Manifest) (map[string]fact, error) {
	path := store.ELFPath(elf.Extractor, m.SHA256)
	if m.ELF == nil || len(m.ELF) > 0 {
		facts, err := readFacts(path, m.SHA256)
		if facts != nil || err != nil {
			return facts, err
		}
	}
	entries, err := m.ELFEntries(store.BeginsELF)
	if err != nil {
		return nil, err
	}
	facts := make(map[string]fact, len(entries))
	for _, e := range entries {
		if _, known := facts[e.SHA256]; known {
			continue
		}
		f := fact{Content: e.SHA256}
		at := store.PoolPath(e.SHA256, e.Exec)
		f.Facts, err = elf.ReadFile(at)
		switch {
		case errors.Is(err, elf.ErrBroken), errors.Is(err, elf.ErrNotELF):
			f.Problem = problem(err.Error(), at)
		case errors.Is(err, fs.ErrNotExist):
			return nil, cache.ErrNotFound
		case err != nil:
			return nil, err
		}
		facts[e.SHA256] = f
	}
	if len(facts) == 0 {
		return facts, nil // a file of its own would say no more than the manifest
	}
	data, ok := encodeFacts(m.SHA256, facts)
	if !ok {
		return facts, nil
	}
	return facts, store.KeepFile(path, 0o444, data)
}

// problem is what is wrong with a broken file, without where it was read.
func problem(text, path string) string { return strings.TrimPrefix(text, path+": ") }

// encodeFacts writes facts as lines. ok is false if they would come back as others: a
// file's names have bytes that separate here.
func encodeFacts(pkg string, facts map[string]fact) (data []byte, ok bool) {
	data = fmt.Appendf(nil, "%s\t%d\n", pkg, len(facts))
	for _, content := range slices.Sorted(maps.Keys(facts)) {
		before := len(data)
		data = appendFact(data, content, facts[content])
		line := string(data[before : len(data)-1])
		if again, is := parseFact(line); !is || strings.Contains(line, "\n") || !reflect.DeepEqual(again, facts[content]) {
			return nil, false
		}
	}
	return data, true
}

// readFacts reads what was kept of a package; nil if there is nothing, or if a power
// cut left a part of it.
func readFacts(path, pkg string) (map[string]fact, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	return decodeFacts(string(data), pkg), nil
}

func decodeFacts(data, pkg string) map[string]fact {
	head, data, _ := strings.Cut(data, "\n")
	head, count, _ := strings.Cut(head, "\t")
	n, err := strconv.Atoi(count)
	if err != nil || head != pkg || n != strings.Count(data, "\n") {
		return nil
	}
	facts := make(map[string]fact, n)
	for range n {
		var line string
		line, data, _ = strings.Cut(data, "\n")
		f, ok := parseFact(line)
		if !ok {
			return nil
		}
		facts[f.Content] = f
	}
	if len(data) > 0 || len(facts) != n {
		return nil
	}
	return facts
}

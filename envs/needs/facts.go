package needs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/elf"
)

// fact is what is known of a content that begins as an ELF file.
type fact struct {
	Content string `json:"content"`
	// Facts, or the problem of a broken file.
	Facts   *elf.Facts `json:"elf,omitempty"`
	Problem string     `json:"problem,omitempty"`
}

// kept is the first line of a package's facts; so many lines of facts follow.
type kept struct {
	Package  string `json:"package"`
	Contents int    `json:"contents"`
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
	data, ok, err := encodeFacts(m.SHA256, facts)
	if !ok || err != nil {
		return facts, err
	}
	return facts, store.KeepFile(path, 0o444, data)
}

// problem is what is wrong with a broken file, without where it was read.
func problem(text, path string) string { return strings.TrimPrefix(text, path+": ") }

// replaced is what JSON makes of bytes that are no UTF-8.
var replaced = []byte(`\ufffd`)

// encodeFacts writes facts as lines. ok is false if they would come back as others: a
// file's names are no UTF-8.
func encodeFacts(pkg string, facts map[string]fact) (data []byte, ok bool, err error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if err := enc.Encode(kept{Package: pkg, Contents: len(facts)}); err != nil {
		return nil, false, fmt.Errorf("facts of %s: %w", pkg, err)
	}
	for _, f := range facts {
		if err := enc.Encode(f); err != nil {
			return nil, false, fmt.Errorf("facts of %s: %w", pkg, err)
		}
	}
	return b.Bytes(), !bytes.Contains(b.Bytes(), replaced), nil
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
	return decodeFacts(data, pkg), nil
}

func decodeFacts(data []byte, pkg string) map[string]fact {
	line, data, _ := bytes.Cut(data, []byte("\n"))
	var k kept
	if json.Unmarshal(line, &k) != nil || k.Package != pkg || k.Contents != bytes.Count(data, []byte("\n")) {
		return nil
	}
	facts := make(map[string]fact, k.Contents)
	for range k.Contents {
		line, data, _ = bytes.Cut(data, []byte("\n"))
		var f fact
		if json.Unmarshal(line, &f) != nil || f.Facts == nil && f.Problem == "" {
			return nil
		}
		facts[f.Content] = f
	}
	if len(data) > 0 || len(facts) != k.Contents {
		return nil
	}
	return facts
}

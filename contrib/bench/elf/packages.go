package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/needs"
)

// perPackage is how many files a package has.
const perPackage = 250

// packaged is a prefix whose files are those of packages in a store.
type packaged struct {
	input needs.Input
	pool  []elf.File // ELF files of the pool, with their full paths
}

// takeIn makes a store below dir whose packages the files of a prefix are. Only ELF files
// are in its pool: of the others nothing is read.
func takeIn(dir, prefix string, files []elf.File) (p *packaged, err error) {
	store, err := cache.Create(filepath.Join(dir, "store"), cache.Format{Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		return nil, err
	}
	adder, err := store.NewAdder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, adder.Close()) }()
	p = &packaged{input: needs.Input{Store: store, Root: prefix, Prefix: "/opt/hpcenv/e/0", Subdir: "linux-64"}}
	for chunk := range slices.Chunk(files, perPackage) {
		m := &cache.Manifest{SHA256: fmt.Sprintf("%064x", len(p.input.Files)), ELF: []int{}}
		for _, f := range chunk {
			if f.Link != "" {
				continue
			}
			at := filepath.Join(prefix, filepath.FromSlash(f.Path))
			info, err := os.Stat(at)
			if err != nil {
				return nil, err
			}
			is, err := isELF(at)
			if err != nil {
				return nil, err
			}
			if is {
				if err := add(adder, at, info.Size()); err != nil {
					return nil, err
				}
				m.ELF = append(m.ELF, len(m.Entries))
				p.pool = append(p.pool, elf.File{Path: store.PoolPath(f.SHA256, false)})
			}
			m.Entries = append(m.Entries, cache.Entry{Path: f.Path, Type: cache.EntryFile, SHA256: f.SHA256, Size: info.Size()})
		}
		of := needs.NewPackage(fmt.Sprintf("p%d 1", len(p.input.Files)), m)
		for _, f := range chunk {
			p.input.Files = append(p.input.Files, needs.File{Path: f.Path, Package: of, Content: f.SHA256, Link: f.Link})
		}
	}
	return p, nil
}

func add(adder *cache.Adder, at string, size int64) (err error) {
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = adder.AddFile(f, size, false)
	return err
}

// survey measures finding out what the prefix asks of a node, by what there is of facts:
// none, with content that is not in memory, and all. size is that of what is kept.
func (p *packaged) survey(ctx context.Context) (cold, kept time.Duration, size int, err error) {
	facts := filepath.Join(p.input.Store.Root(), "pool", "elf")
	if err := errors.Join(os.RemoveAll(facts), os.Mkdir(facts, 0o755)); err != nil {
		return 0, 0, 0, err
	}
	unix.Sync()
	if err := evict("/", p.pool); err != nil {
		return 0, 0, 0, err
	}
	for _, into := range []*time.Duration{&cold, &kept} {
		start := time.Now()
		matter := p.input
		matter.Files = slices.DeleteFunc(slices.Clone(matter.Files), func(f needs.File) bool { return !f.Matters() })
		n, err := needs.Of(ctx, &matter)
		if err != nil {
			return 0, 0, 0, err
		}
		data, err := n.Encode()
		if err != nil {
			return 0, 0, 0, err
		}
		*into, size = time.Since(start), len(data)
	}
	return cold, kept, size, nil
}

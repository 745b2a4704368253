package elf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// File of a prefix.
type File struct {
	// Path below the prefix, with slashes.
	Path string
	// SHA256 of the content in hex, where it is known (a package's manifest has it);
	// "" = the file is read whatever a cache has.
	SHA256 string
	// Link is where a symbolic link leads; "" = a regular file.
	Link string
}

// Read file of a prefix. Of Facts and Problem one is set.
type Scanned struct {
	File
	Facts *Facts
	// Problem of a broken ELF file.
	Problem string
}

// List are the regular files and symbolic links below root, sorted by path.
func List(root string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file := File{Path: filepath.ToSlash(rel)}
		switch d.Type() {
		case 0:
		case fs.ModeSymlink:
			if file.Link, err = os.Readlink(path); err != nil {
				return err
			}
		default:
			return nil
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("files below %s: %w", root, err)
	}
	return files, nil
}

// workers at once: some wait for storage while others compute.
func workers() int { return max(8, 2*runtime.GOMAXPROCS(0)) }

// Scan reads the ELF files among files, which lie below root, in the order of
// files; of all others, and of a file whose facts the cache (nil = none) has, the
// first bytes alone are read: asking the cache for every file would cost more. Symbolic links are not followed. It ends at the first
// error of the storage.
func Scan(ctx context.Context, root string, files []File, cache Cache) ([]Scanned, error) {
	results := make([]*Scanned, len(files))
	group, ctx := errgroup.WithContext(ctx)
	const chunk = 64
	chunks := make(chan int)
	group.Go(func() error {
		defer close(chunks)
		for i := 0; i < len(files); i += chunk {
			select {
			case chunks <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range workers() {
		group.Go(func() error {
			for at := range chunks {
				for i := at; i < min(at+chunk, len(files)); i++ {
					if err := ctx.Err(); err != nil {
						return err
					}
					s, err := scan(root, files[i], cache)
					if err != nil {
						return err
					}
					results[i] = s
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var found []Scanned
	for _, s := range results {
		if s != nil {
			found = append(found, *s)
		}
	}
	return found, nil
}

// scan reads one file; nil: it is no ELF file.
func scan(root string, file File, cache Cache) (*Scanned, error) {
	if file.Link != "" {
		return nil, nil
	}
	keep := cache != nil && file.SHA256 != ""
	known := false
	var kept func() (*Facts, error)
	if keep {
		kept = func() (*Facts, error) {
			facts, err := cache.Load(file.SHA256)
			known = facts != nil
			return facts, err
		}
	}
	facts, err := readFile(filepath.Join(root, filepath.FromSlash(file.Path)), kept)
	switch {
	case errors.Is(err, ErrNotELF):
		return nil, nil
	case errors.Is(err, ErrBroken):
		return &Scanned{File: file, Problem: err.Error()}, nil
	case err != nil:
		return nil, err
	}
	if keep && !known {
		if err := cache.Save(file.SHA256, facts); err != nil {
			return nil, err
		}
	}
	return &Scanned{File: file, Facts: facts}, nil
}

package elf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Cache keeps facts by content. Both methods may be called at once by many.
type Cache interface {
	// Load is the facts of the content with that sha256 (hex); nil: they are not
	// there, or not readable any more.
	Load(sha256 string) (*Facts, error)
	// Save keeps facts, or does not, if they would come back as others. Those that are
	// there may stay: equal content has equal facts.
	Save(sha256 string, facts *Facts) error
}

// Dir is a cache in a directory, below which each version of the extractor has its
// own: v1/ab/abcdef…, a line of JSON each. Files appear whole, by rename. They are
// not made durable: one that a power cut emptied counts as absent.
type Dir string

// record is the form of a kept file. Content shows that it is whole and the one
// that was asked for.
type record struct {
	Content string `json:"content"`
	Facts   *Facts `json:"elf"`
}

func (d Dir) path(sum string) (string, error) {
	if len(sum) != 64 {
		return "", fmt.Errorf("ELF facts: %q is no sha256", sum)
	}
	for _, c := range sum {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fmt.Errorf("ELF facts: %q is no sha256", sum)
		}
	}
	return filepath.Join(string(d), "v"+strconv.Itoa(Extractor), sum[:2], sum), nil
}

// Load implements Cache. Errors are the storage's, and name the file.
func (d Dir) Load(sum string) (*Facts, error) {
	path, err := d.path(sum)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ELF facts: %w", err)
	}
	var r record
	if json.Unmarshal(b, &r) != nil || r.Content != sum || r.Facts == nil {
		return nil, nil // cut off: it is read anew and replaced
	}
	return r.Facts, nil
}

// changed is what JSON makes of bytes that are no UTF-8.
var changed = []byte(`\ufffd`)

// Save implements Cache. A broken file is replaced. A file whose names are no UTF-8
// is not kept: the facts would come back as others.
func (d Dir) Save(sum string, facts *Facts) (err error) {
	path, err := d.path(sum)
	if err != nil {
		return err
	}
	b, err := json.Marshal(record{sum, facts})
	if err != nil {
		return fmt.Errorf("ELF facts of %s: %w", sum, err)
	}
	if bytes.Contains(b, changed) {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("ELF facts: %w", err)
	}
	f, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return fmt.Errorf("ELF facts: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Chmod(0o444), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("ELF facts: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

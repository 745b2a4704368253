package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hpcenv/hpcenv/envs/elf"
)

const (
	// files of a prefix, and how many of them are ELF files, as in a large Python
	// stack.
	wanted    = 25000
	wantedELF = 2000
	// maxFile and maxAll bound what is copied, in bytes.
	maxFile = 32 << 20
	maxAll  = 2 << 30
)

// makePrefix copies files of this host: its libraries and programs, and other files.
// Of a host with fewer, some are there more than once.
func makePrefix(prefix string) error {
	var programs, others []string
	size := map[string]int64{}
	err := filepath.WalkDir("/usr", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || len(others) >= wanted && len(programs) >= wantedELF {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxFile {
			return err
		}
		is, err := isELF(path)
		if err != nil {
			return err
		}
		size[path] = info.Size()
		if is && len(programs) < wantedELF {
			programs = append(programs, path)
		} else if !is && len(others) < wanted {
			others = append(others, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(programs) == 0 || len(others) == 0 {
		return errors.New("this host has no files below /usr")
	}
	var all int64
	for i := range wanted {
		from := others[i%len(others)]
		if i < wantedELF {
			from = programs[i%len(programs)]
		}
		if all += size[from]; all > maxAll {
			return fmt.Errorf("%d files have more than %d bytes", i, maxAll)
		}
		// Folders of some tens of files, as Python packages have.
		to := filepath.Join(prefix, "lib", strconv.Itoa(i/40), strconv.Itoa(i)+"-"+filepath.Base(from))
		if err := copyFile(from, to); err != nil {
			return err
		}
	}
	return nil
}

func isELF(path string) (is bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var magic [4]byte
	n, err := io.ReadFull(f, magic[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return string(magic[:n]) == "\x7fELF", err
}

func copyFile(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// hashed are the files of a prefix with their hashes, which a store has in its
// manifests.
func hashed(prefix string) ([]elf.File, error) {
	files, err := elf.List(prefix)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if files[i].Link == "" {
			if files[i].SHA256, err = hash(filepath.Join(prefix, filepath.FromSlash(files[i].Path))); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

func hash(path string) (sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

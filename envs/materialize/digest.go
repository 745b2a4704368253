package materialize

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
)

// line is one path of a tree as the tree digest sees it.
type line struct {
	path  string
	kind  byte // 'd', 'f' or 'l'
	exec  bool
	value string // sha256 of a file, text of a link, nothing for a directory
	// size of a file and how it came; not in the digest.
	size   int64
	pooled bool
	method cache.Method
}

// digestLines is the tree digest: sha256 over the lines sorted by path (bytes,
// not names), each "path NUL kind NUL x-or-dash NUL value NUL newline". Fields
// end with NUL since paths and link texts may hold anything else.
func digestLines(lines []line) string {
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.path, b.path) })
	h := sha256.New()
	var text []byte
	for _, l := range lines {
		x := byte('-')
		if l.exec {
			x = 'x'
		}
		text = append(append(text[:0], l.path...), 0, l.kind, 0, x, 0)
		text = append(append(text, l.value...), 0, '\n')
		h.Write(text) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TreeDigest is the digest of all below root: paths, types, executable bits,
// contents and link texts; neither times nor inodes nor other modes. It reads
// every file. Anything but directories, files and links is an error.
func TreeDigest(root string) (string, error) {
	var lines []line
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == root {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		l := line{path: filepath.ToSlash(rel)}
		switch {
		case d.IsDir():
			l.kind = 'd'
		case d.Type() == fs.ModeSymlink:
			l.kind = 'l'
			l.value, err = os.Readlink(p)
		case d.Type().IsRegular():
			l.kind = 'f'
			l.exec, l.value, err = fileDigest(p)
		default:
			err = fmt.Errorf("%s is neither directory, file nor link", p)
		}
		lines = append(lines, l)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("tree digest of %s: %w", root, err)
	}
	return digestLines(lines), nil
}

// fileDigest is a file's executable bit and sha256.
func fileDigest(p string) (exec bool, sum string, err error) {
	f, err := os.Open(p)
	if err != nil {
		return false, "", err
	}
	defer f.Close() // only read
	st, err := f.Stat()
	if err != nil {
		return false, "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, "", fmt.Errorf("%s: %w", p, err)
	}
	return st.Mode()&0o111 != 0, hex.EncodeToString(h.Sum(nil)), nil
}

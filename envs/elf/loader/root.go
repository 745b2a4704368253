package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// Root is where a node's files are.
type Root struct {
	// Dir is the directory that is / for the node; "" is this host's own.
	Dir string
	// Binds are directories that lie elsewhere here, such as a prefix that is not
	// attached: path on the node to directory of this host. The longest path holds.
	Binds map[string]string
}

// maxLinks is how many links Linux follows.
const maxLinks = 40

// here is where a path of the node lies on this host, its last links not followed.
func (r Root) here(at string) string {
	best, dir := "", r.Dir
	for to, from := range r.Binds {
		if (at == to || strings.HasPrefix(at, strings.TrimSuffix(to, "/")+"/")) && len(to) > len(best) {
			best, dir = to, from
		}
	}
	return filepath.Join(dir, "/", filepath.FromSlash(at[len(best):]))
}

// resolve follows all links in a path of the node, within the root, and returns
// the path on the node without links. The path must be absolute. A path that leads
// nowhere is an fs.ErrNotExist.
func (r Root) resolve(at string) (string, error) {
	left := strings.Split(at, "/")
	done := "/"
	links := 0
	for len(left) > 0 {
		word := left[0]
		left = left[1:]
		switch word {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, word)
		info, err := os.Lstat(r.here(next))
		switch {
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "open", Path: at, Err: syscall.ELOOP}
			}
			to, err := os.Readlink(r.here(next))
			if err != nil {
				return "", err
			}
			if path.IsAbs(to) {
				done = "/"
			}
			left = append(strings.Split(to, "/"), left...)
		case !info.IsDir() && len(left) > 0:
			return "", &fs.PathError{Op: "open", Path: at, Err: syscall.ENOTDIR}
		default:
			done = next
		}
	}
	return done, nil
}

// absent tells that an error means that there is no such file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// read reads a file of the node of at most limit bytes.
func (r Root) read(at string, limit int64) ([]byte, error) {
	real, err := r.resolve(at)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(r.here(real))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is no regular file of at most %d bytes", at, limit)
	}
	return os.ReadFile(r.here(real))
}

package editable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// RootVariable names the directory below which a user's overlays lie. All nodes
// must see it. Without it they are in the user's cache directory.
const RootVariable = "HPCENV_OVERLAYS"

// Root is the directory below which this user's overlays lie, by an environment:
// $HPCENV_OVERLAYS, else hpcenv/overlays in $XDG_CACHE_HOME or in .cache of the
// home directory.
func Root(getenv func(string) string) (string, error) {
	if dir := getenv(RootVariable); dir != "" {
		if strings.ContainsAny(dir, ":\n") {
			return "", fmt.Errorf("%s=%s cannot be in PATH; next: a path without colons", RootVariable, dir)
		}
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("%s=%s is not an absolute path; next: correct it", RootVariable, dir)
		}
		return filepath.Clean(dir), nil
	}
	cache := getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("there is no place for what the project itself adds to the environment: HOME is not set; next: %s=DIRECTORY, one that all nodes see", RootVariable)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "hpcenv", "overlays"), nil
}

// Overlay is the content of an overlay.
type Overlay struct {
	// Files by path.
	Files map[string]File
	// Digest of the files, 32 hex digits.
	Digest string
}

// New makes the overlay of projects for an environment. prefixes are the
// environment's prefix, by platform where it is not the same on all: then each
// platform has its own part of the overlay, in a directory of its name; under ""
// otherwise. No two projects may write one file.
func New(projects []*Project, prefixes map[string]string) (*Overlay, error) {
	o := &Overlay{Files: map[string]File{}}
	for _, platform := range slices.Sorted(maps.Keys(prefixes)) {
		from := map[string]*Project{}
		for _, p := range projects {
			files, err := p.files(prefixes[platform] + "/bin/python")
			if err != nil {
				return nil, err
			}
			for path, f := range files {
				if first := from[path]; first != nil {
					return nil, &Refusal{Name: p.Name, Dir: p.Dir, Reason: fmt.Sprintf("both it and %s (%s) have %s", first.Name, first.Dir, filepath.Base(path)), Next: "rename one"}
				}
				from[path] = p
				o.Files[filepath.Join(platform, path)] = f
			}
		}
	}
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(o.Files)) {
		f := o.Files[path]
		fmt.Fprintf(h, "%s\x00%t\x00%x\n", path, f.Exec, sha256.Sum256(f.Data))
	}
	o.Digest = hex.EncodeToString(h.Sum(nil)[:16])
	return o, nil
}

// Write brings the overlay below root, for the environment of an id, and returns
// its directory: <root>/<id>/<digest>. One that is there already is left as it is,
// if its files are. Others see all of it or nothing.
func (o *Overlay) Write(root, id string) (string, error) {
	dir := filepath.Join(root, id, o.Digest)
	// Python runs what lies there: nobody else may have put it there.
	for _, d := range []string{dir, filepath.Dir(dir)} {
		var st unix.Stat_t
		if err := unix.Lstat(d, &st); err == nil && int(st.Uid) != os.Geteuid() {
			return "", fmt.Errorf("%s belongs to the user %d, not to you; what your project adds to the environment is not put there; next: %s=DIRECTORY, one of your own that all nodes see", d, st.Uid, RootVariable)
		}
	}
	if o.there(dir) {
		return dir, nil
	}
	err := o.write(dir)
	if err != nil && !o.there(dir) { // another process may have been first
		return "", fmt.Errorf("writing what the project itself adds to the environment: %w; next: make room there, or %s=DIRECTORY for another place that all nodes see", err, RootVariable)
	}
	return dir, nil
}

// there tells whether all files are there as they should be.
func (o *Overlay) there(dir string) bool {
	for path, f := range o.Files {
		full := filepath.Join(dir, path)
		info, err := os.Lstat(full)
		if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(f.Data)) || f.Exec != (info.Mode()&0o100 != 0) {
			return false
		}
		if data, err := os.ReadFile(full); err != nil || !bytes.Equal(data, f.Data) {
			return false
		}
	}
	return true
}

func (o *Overlay) write(dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(dir)), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Dir(dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	for path, f := range o.Files {
		full := filepath.Join(tmp, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if f.Exec {
			mode = 0o755
		}
		if err := os.WriteFile(full, f.Data, mode); err != nil {
			return err
		}
		if err := os.Chmod(full, mode); err != nil { // whatever the umask is
			return err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err = os.Rename(tmp, dir); err == nil || !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) {
		return err
	}
	// What is there is damaged: it is moved away whole.
	if err := os.Rename(dir, tmp+"-damaged"); err != nil {
		return err
	}
	return errors.Join(os.Rename(tmp, dir), os.RemoveAll(tmp+"-damaged"))
}

package linkscript

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// messagesFile is where a script writes what the user shall read.
const messagesFile = ".messages.txt"

// notItsOwn: what describes the environment does not change.
func notItsOwn(p string) bool {
	return p == "conda-meta" || strings.HasPrefix(p, "conda-meta/") || path.Base(p) == "EXTERNALLY-MANAGED" || path.Base(p) == "hpcenv-overlay.pth"
}

// collect compares the copy at prefix with the task's tree, by content, and fills in
// Changes, Messages and Ignored. No process is left that could change the copy. What
// may not be taken in is an errFailed.
func collect(ctx context.Context, t *Task, prefix string, out *Outcome) error {
	now, err := scan(ctx, prefix)
	if errors.Is(err, unix.ENAMETOOLONG) {
		return fmt.Errorf("%w: it hid files, by too long a path: %.200q", errFailed, err.Error())
	}
	if err != nil {
		return err
	}
	if m, ok := now[messagesFile]; ok && m.Kind == File {
		if out.Messages, err = readMessages(m.Content); err != nil {
			return err
		}
	}
	delete(now, messagesFile)
	seen := make(map[string]bool)
	err = filepath.WalkDir(t.Tree, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == t.Tree {
			return err
		}
		rel, err := filepath.Rel(t.Tree, p)
		if err != nil {
			return err
		}
		seen[rel] = true
		was, err := look(p, rel)
		if err != nil {
			return err
		}
		is, there := now[rel]
		if !there {
			is = Change{Path: rel, Kind: Gone}
		} else if same(was, is) {
			return nil
		}
		out.add(is)
		return nil
	})
	if err != nil {
		return err
	}
	for p, c := range now {
		if !seen[p] {
			out.add(c)
		}
	}
	sort.Strings(out.Ignored)
	sort.Slice(out.Changes, func(i, j int) bool { return out.Changes[i].Path < out.Changes[j].Path })
	return Verify(out.Changes, t.Prefix, t.Limits)
}

func (o *Outcome) add(c Change) {
	if notItsOwn(c.Path) {
		o.Ignored = append(o.Ignored, c.Path)
		return
	}
	o.Changes = append(o.Changes, c)
}

func same(a, b Change) bool {
	return a.Kind == b.Kind && a.Exec == b.Exec && a.Target == b.Target && a.SHA256 == b.SHA256
}

// Verify refuses changes that must not get into an environment, wherever they come
// from: paths that escape, links that lead out of the prefix, what lies below
// something that is no directory, more than the limits. The error is a failure of
// the script.
func Verify(changes []Change, prefix string, l Limits) error {
	var bytes, inodes int64
	kinds := make(map[string]Kind, len(changes))
	for i, c := range changes {
		if !filepath.IsLocal(c.Path) || path.Clean(c.Path) != c.Path || c.Path == "." || strings.ContainsRune(c.Path, 0) {
			return fmt.Errorf("%w: it left a path %q", errFailed, c.Path)
		}
		if !utf8.ValidString(c.Path) || !utf8.ValidString(c.Target) {
			// Its answer could not be written down, and another name would be made.
			return fmt.Errorf("%w: it left a name or a link that is not UTF-8: %q → %q", errFailed, c.Path, c.Target)
		}
		if i > 0 && changes[i-1].Path >= c.Path {
			return fmt.Errorf("%w: its changes are not in order: %q after %q", errFailed, c.Path, changes[i-1].Path)
		}
		if notItsOwn(c.Path) || c.Path == messagesFile {
			return fmt.Errorf("%w: %q is not its to change", errFailed, c.Path)
		}
		kinds[c.Path] = c.Kind
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			if k, ok := kinds[dir]; ok && k != Dir && c.Kind != Gone {
				return fmt.Errorf("%w: %q lies below what is no directory", errFailed, c.Path)
			}
		}
		switch c.Kind {
		case File:
			if c.Size < 0 || l.Bytes > 0 && c.Size > l.Bytes {
				return fmt.Errorf("%w: %q has a size of %d bytes, at most %d are allowed", errFailed, c.Path, c.Size, l.Bytes)
			}
			bytes += c.Size
		case Link:
			if !stays(c.Path, c.Target, prefix) {
				return fmt.Errorf("%w: it made a link out of the prefix: %q → %q", errFailed, c.Path, c.Target)
			}
		case Dir, Gone:
		default:
			return fmt.Errorf("%w: %q is of unknown kind %q", errFailed, c.Path, c.Kind)
		}
		if c.Kind != Gone {
			inodes++
		}
	}
	if l.Bytes > 0 && bytes > l.Bytes || l.Inodes > 0 && inodes > l.Inodes {
		return fmt.Errorf("%w: it changed %d files with %d MiB, at most %d with %d MiB are allowed", errFailed, inodes, bytes>>20, l.Inodes, l.Bytes>>20)
	}
	return nil
}

// stays tells whether a link at p keeps within the prefix, going by its text.
func stays(p, target, prefix string) bool {
	if target == "" || strings.ContainsRune(target, 0) {
		return false
	}
	if path.IsAbs(target) {
		clean := path.Clean(target)
		return clean == prefix || strings.HasPrefix(clean, prefix+"/")
	}
	depth := strings.Count(p, "/")
	for _, name := range strings.Split(target, "/") {
		switch name {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return false
			}
		default:
			depth++
		}
	}
	return true
}

// scan reads the copy.
func scan(ctx context.Context, root string) (map[string]Change, error) {
	out := make(map[string]Change)
	var walk func(dir, rel string) error
	walk = func(dir, rel string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			p, r := filepath.Join(dir, e.Name()), path.Join(rel, e.Name())
			c, err := look(p, r)
			if err != nil {
				return err
			}
			out[r] = c
			if c.Kind == Dir {
				if err := walk(p, r); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return out, walk(root, "")
}

// look describes one path of a tree that nobody changes meanwhile.
func look(p, rel string) (Change, error) {
	st, err := os.Lstat(p)
	if err != nil {
		return Change{}, err
	}
	c := Change{Path: rel}
	if st.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 && !st.IsDir() {
		return c, fmt.Errorf("%w: it left %q with set-user-id or set-group-id", errFailed, rel)
	}
	switch {
	case st.IsDir() && st.Mode().Perm()&0o700 != 0o700:
		// For root nothing is hidden; the answer is the same.
		err = fmt.Errorf("%w: it hid files, by a directory's mode: %.200q", errFailed, rel)
	case st.IsDir():
		c.Kind = Dir
	case st.Mode()&fs.ModeSymlink != 0:
		c.Kind = Link
		c.Target, err = os.Readlink(p)
	case st.Mode().IsRegular():
		c.Kind, c.Content = File, p
		if st.Mode().Perm()&0o400 == 0 {
			if err := os.Chmod(p, st.Mode().Perm()|0o400); err != nil {
				return c, err
			}
		}
		c.Exec = st.Mode()&0o111 != 0
		c.SHA256, c.Size, err = hashFile(p)
	default:
		err = fmt.Errorf("%w: it left %q, which is neither file, directory nor link", errFailed, rel)
	}
	return c, err
}

// hashFile never follows a link and never waits for a reader or writer.
func hashFile(p string) (string, int64, error) {
	f, err := os.OpenFile(p, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close() // only read
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

func readMessages(p string) (string, error) {
	f, err := os.OpenFile(p, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxText))
	return printable(string(data)), err
}

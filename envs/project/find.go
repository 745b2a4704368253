package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// LockName is what a pixi.lock is called.
const LockName = "pixi.lock"

// lockNames are what locks are called, in the order in which they count where a
// directory has several. Of the first two, which say which conda packages they
// mean, nothing needs to be said when they are found; the others may have been
// made for something else than a cluster.
var lockNames = []string{LockName, "conda-lock.yml", "uv.lock", "pylock.toml"}

const silentNames = 2

// namedPylock is a pylock with a name of its own (PEP 751).
var namedPylock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^pylock\.[^.]+\.toml$`) })

// ErrNoLock is the class of errors about a lock that is not there.
var ErrNoLock = errors.New("no lock file")

// FindLock returns the absolute path of a lock.
//
// start "" means the nearest directory that has one, from the working directory
// upwards; a directory means the lock in it and no other; a file means itself,
// whatever its name. Of several in one directory a pixi.lock counts before a
// conda-lock.yml, that before a uv.lock, that before a pylock.toml, and that
// before a pylock.NAME.toml. note is what the user should hear about the choice,
// "" if there is nothing to say. Errors wrap ErrNoLock (or the cause, if
// something is there that cannot be looked at) and say what was looked for, where,
// and what to do.
func FindLock(start string) (lock, note string, err error) {
	if start == "" {
		return nearestLock()
	}
	path, err := filepath.Abs(start)
	if err != nil {
		return "", "", fmt.Errorf("the lock %s: %w", start, err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("%w: %s does not exist; next: give the path of a pixi.lock or of a directory that has one, or run `pixi lock` there", ErrNoLock, path)
	case err != nil:
		return "", "", fmt.Errorf("the lock %s cannot be looked at: %w", path, err)
	case info.Mode().IsRegular():
		return path, "", nil
	case !info.IsDir():
		return "", "", fmt.Errorf("%w: %s is neither a file nor a directory; next: give the path of a pixi.lock", ErrNoLock, path)
	}
	lock, found, err := LockIn(path)
	if err != nil {
		return "", "", err
	}
	if !found {
		return "", "", fmt.Errorf("%w: the directory %s has no %s; next: %s%s", ErrNoLock, path, namesText(), lockHere(path, "run `pixi lock` in it"), above(filepath.Dir(path)))
	}
	return lock, choice(lock, ""), nil
}

// nearestLock looks from the working directory upwards.
func nearestLock() (lock, note string, err error) {
	start, err := os.Getwd()
	if err != nil {
		return "", "", fmt.Errorf("the working directory, in which a %s is looked for: %w", LockName, err)
	}
	for dir := start; ; {
		lock, found, err := LockIn(dir)
		if err != nil {
			return "", "", err
		}
		if found {
			return lock, choice(lock, filepath.Dir(dir)), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", "", fmt.Errorf("%w: no %s in %s or any directory above; next: %s, or give the path of a lock", ErrNoLock, namesText(), start, lockHere(start, "run `pixi lock` in your project"))
		}
		dir = parent
	}
}

// lockHere is how a directory gets a lock: of an environment.yml alone a project is
// made first; otherwise is for all else.
func lockHere(dir, otherwise string) string {
	there := func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	}
	if there("pixi.toml") {
		return otherwise
	}
	if there("pyproject.toml") {
		if data, err := ReadManifest(filepath.Join(dir, "pyproject.toml")); err == nil && !strings.Contains(string(data), "[tool.pixi") {
			return strings.Replace(otherwise, lockfile.FormatPixi.Relock(), lockfile.FormatUV.Relock(), 1)
		}
		return otherwise
	}
	for _, name := range []string{"environment.yml", "environment.yaml"} {
		if there(name) {
			return fmt.Sprintf("`pixi init --import %s` makes a project of the %s there, and `pixi lock` its lock", name, name)
		}
	}
	return otherwise
}

// namesText lists what was looked for.
func namesText() string {
	return strings.Join(lockNames[:len(lockNames)-1], ", ") + " or " + lockNames[len(lockNames)-1]
}

// choice is what is said about a lock that was chosen and not named. Of another one
// in the directory over or above it ("": no matter) it says where that is.
func choice(lock, over string) string {
	if slices.Contains(lockNames[:silentNames], filepath.Base(lock)) {
		return ""
	}
	note := fmt.Sprintf("the lock is %s, as there is no %s beside it", lock, strings.Join(lockNames[:silentNames], " or "))
	if other := lockAbove(over); other != "" {
		note += "; if another was meant, name it: " + other
	}
	return note
}

// LockIn tells which lock a directory has, if any. Several pylock.NAME.toml, of
// which none is more than the others, are an error.
func LockIn(dir string) (path string, found bool, err error) {
	for _, name := range lockNames {
		path = filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", false, fmt.Errorf("the lock %s cannot be looked at: %w", path, err)
		case !info.Mode().IsRegular():
			return "", false, fmt.Errorf("%w: %s is not a regular file; next: move it away and run %s", ErrNoLock, path, lockfile.FormatOf(name, nil).Relock())
		}
		return path, true, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return "", false, nil // a directory above that may be passed through only
	}
	if err != nil {
		return "", false, fmt.Errorf("the directory %s, in which a lock is looked for: %w", dir, err)
	}
	var named []string
	for _, entry := range entries {
		if namedPylock().MatchString(entry.Name()) && entry.Type().IsRegular() {
			named = append(named, entry.Name())
		}
	}
	switch len(named) {
	case 0:
		return "", false, nil
	case 1:
		return filepath.Join(dir, named[0]), true, nil
	}
	return "", false, fmt.Errorf("%w: %s has several: %s; next: give the path of the one that is meant", ErrNoLock, dir, strings.Join(named, ", "))
}

// above hints at a lock in this directory or above, since it may have been meant.
func above(dir string) string {
	if path := lockAbove(dir); path != "" {
		return ", or give " + path
	}
	return ""
}

// lockAbove is the nearest lock in this directory or above; "" = none.
func lockAbove(dir string) string {
	if dir == "" {
		return ""
	}
	for {
		if path, found, err := LockIn(dir); err == nil && found {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

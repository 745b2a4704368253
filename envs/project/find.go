package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LockName is what a lock file is called.
const LockName = "pixi.lock"

// ErrNoLock is the class of errors about a lock that is not there.
var ErrNoLock = errors.New("no lock file")

// FindLock returns the absolute path of a lock.
//
// start "" means the nearest pixi.lock, from the working directory upwards; a
// directory means the pixi.lock in it and no other; a file means itself,
// whatever its name. Errors wrap ErrNoLock (or the cause, if something is there
// that cannot be looked at) and say what was looked for, where, and what to do.
func FindLock(start string) (string, error) {
	if start == "" {
		return nearest()
	}
	path, err := filepath.Abs(start)
	if err != nil {
		return "", fmt.Errorf("the lock %s: %w", start, err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: %s does not exist; next: give the path of a pixi.lock or of a directory that has one, or run `pixi lock` there", ErrNoLock, path)
	case err != nil:
		return "", fmt.Errorf("the lock %s cannot be looked at: %w", path, err)
	case info.Mode().IsRegular():
		return path, nil
	case !info.IsDir():
		return "", fmt.Errorf("%w: %s is neither a file nor a directory; next: give the path of a pixi.lock", ErrNoLock, path)
	}
	lock, found, err := lockIn(path)
	if err != nil {
		return "", err
	}
	if !found {
		return "", fmt.Errorf("%w: the directory %s has no %s; next: run `pixi lock` in it%s", ErrNoLock, path, LockName, above(filepath.Dir(path)))
	}
	return lock, nil
}

// nearest looks from the working directory upwards.
func nearest() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the working directory, in which a %s is looked for: %w", LockName, err)
	}
	for dir := start; ; {
		lock, found, err := lockIn(dir)
		if err != nil || found {
			return lock, err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("%w: no %s in %s or any directory above; next: run `pixi lock` in your project, or give the path of a lock", ErrNoLock, LockName, start)
		}
		dir = parent
	}
}

// lockIn tells whether a directory has a lock.
func lockIn(dir string) (path string, found bool, err error) {
	path = filepath.Join(dir, LockName)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("the lock %s cannot be looked at: %w", path, err)
	case !info.Mode().IsRegular():
		return "", false, fmt.Errorf("%w: %s is not a regular file; next: move it away and run `pixi lock`", ErrNoLock, path)
	}
	return path, true, nil
}

// above hints at a lock in a directory above, since one of the two may have
// been meant.
func above(dir string) string {
	for {
		if path, found, err := lockIn(dir); err == nil && found {
			return ", or give " + path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

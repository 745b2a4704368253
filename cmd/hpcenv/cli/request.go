package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/daemon/api"
)

const lockName = "pixi.lock"

// request reads the lock at path ("" = the nearest one upwards) and what its
// manifest says of activation.
func (a *app) request(path string) (*api.PrepareRequest, error) {
	lock, err := findLock(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(lock)
	if err != nil {
		return nil, api.Errorf(api.ExitFailed, "lock file: %v", err)
	}
	return &api.PrepareRequest{Lock: data, LockPath: lock}, nil
}

// workDir is the directory in which the command was typed, by the name that the
// user knows it by where that is right.
func workDir() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", api.Errorf(api.ExitFailed, "current directory: %v", err)
	}
	return wd, nil
}

// findLock returns the absolute path of the lock that path names: a file, a
// directory with a pixi.lock, or "" for the nearest one upwards.
func findLock(path string) (string, error) {
	wd, err := workDir()
	if err != nil {
		return "", err
	}
	if path == "" {
		for dir := wd; ; dir = filepath.Dir(dir) {
			lock := filepath.Join(dir, lockName)
			if st, err := os.Stat(lock); err == nil && st.Mode().IsRegular() {
				return lock, nil
			}
			if dir == filepath.Dir(dir) {
				return "", api.Errorf(api.ExitUsage, "no %s in %s or above it\nnext: name one (hpcenv prepare PATH), or write one with `pixi lock`", lockName, wd)
			}
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(wd, path)
	}
	path = filepath.Clean(path)
	st, err := os.Stat(path)
	if err == nil && st.IsDir() {
		path = filepath.Join(path, lockName)
		st, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", api.Errorf(api.ExitUsage, "there is no lock file %s\nnext: check the path, or write it with `pixi lock`", path)
	case err != nil:
		return "", api.Errorf(api.ExitFailed, "lock file: %v", err)
	case !st.Mode().IsRegular():
		return "", api.Errorf(api.ExitUsage, "%s is not a regular file\nnext: name a pixi.lock or a directory with one", path)
	}
	return path, nil
}

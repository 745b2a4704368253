package faultfs

import (
	"path"
	"strings"
	"syscall"
)

// NoLinks refuses every hard link with errno.
func NoLinks(errno syscall.Errno) Rule {
	return func(op Op) syscall.Errno {
		if op.Name == "link" {
			return errno
		}
		return 0
	}
}

// NoLinksBelow refuses hard links to names below a directory: a server with
// quotas by directory, or one that links only within a directory, does so.
func NoLinksBelow(dir string, errno syscall.Errno) Rule {
	return func(op Op) syscall.Errno {
		if op.Name == "link" && strings.HasPrefix(op.Path, dir+"/") && !strings.HasPrefix(op.Old, dir+"/") {
			return errno
		}
		return 0
	}
}

// MaxLinks gives a file at most n names.
func MaxLinks(n uint64) Rule {
	return func(op Op) syscall.Errno {
		if op.Name == "link" && op.Links >= n {
			return syscall.EMLINK
		}
		return 0
	}
}

// RefuseNames refuses to make what has a name that bad picks.
func RefuseNames(bad func(name string) bool, errno syscall.Errno) Rule {
	return func(op Op) syscall.Errno {
		switch op.Name {
		case "create", "mkdir", "symlink", "link", "rename":
			if bad(path.Base(op.Path)) {
				return errno
			}
		}
		return 0
	}
}

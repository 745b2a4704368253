package squash

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// maxLinks that a path may lead through, as in the kernel.
const maxLinks = 40

// Walk is what a path leads to, from the image's root; follow says whether a link
// at its end is followed, too. Everything on the way is touched. What is not there
// is fs.ErrNotExist.
func (i *Image) Walk(path string, follow bool) (*Inode, error) {
	root, err := i.inode(i.super.root)
	if err != nil {
		return nil, err
	}
	stack := []*Inode{root}
	todo := strings.Split(path, "/")
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			stack = stack[:max(1, len(stack)-1)]
			continue
		}
		n, err := i.lookup(stack[len(stack)-1], name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if n.kind == typeSymlink && (len(todo) > 0 || follow) {
			if links++; links > maxLinks {
				return nil, fmt.Errorf("%s: %w", path, syscall.ELOOP)
			}
			if strings.HasPrefix(n.link, "/") {
				return nil, fmt.Errorf("%s leads out of the image, to %s: %w", path, n.link, fs.ErrNotExist)
			}
			todo = append(strings.Split(n.link, "/"), todo...)
			continue
		}
		stack = append(stack, n)
	}
	return stack[len(stack)-1], nil
}

func (i *Image) lookup(dir *Inode, name string) (*Inode, error) {
	if !dir.Dir() {
		return nil, syscall.ENOTDIR
	}
	found := entry{}
	err := i.list(dir, func(e entry) bool {
		if e.name == name {
			found = e
		}
		return e.name < name
	})
	if err != nil {
		return nil, err
	}
	if found.name == "" {
		return nil, fs.ErrNotExist
	}
	return i.inode(found.ref)
}

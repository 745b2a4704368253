package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache"
)

// contender is a way to have the environment on a node.
type contender string

const (
	// floor is the prefix on the node's own disk: what all others are compared with.
	floor contender = "floor"
	// tree is hpcenv's tree: the prefix on the storage, attached and activated by
	// hpcenv's helper, as in the following.
	tree contender = "tree"
	// image is hpcenv's image, mounted from the storage.
	image contender = "image"
	// imageDirect is image with direct I/O on its file, which hpcenv does not do: squashfs
	// keeps few compressed blocks, and would ask the storage again and again.
	imageDirect contender = "image, direct I/O"
	// localFirst is hpcenv's image, copied to the node and mounted there;
	// localSecond finds the copy.
	localFirst  contender = "local"
	localSecond contender = "local again"
	// pack is a tarball as conda-pack writes it, unpacked on the node by its first
	// rank; packRead only reads it.
	pack     contender = "conda-pack"
	packRead contender = "conda-pack, read only"
	// pixi is a prefix in a project on the storage, entered by each rank with
	// activation as pixi and conda do it.
	pixi contender = "pixi"
)

// What is on the storage, by its path there.
const (
	storeDir     = "store"     // of a site that publishes images
	treeStoreDir = "treestore" // of a site that publishes trees
	storedPack   = "home/env.tar.gz"
	storedPixi   = "home/project"
)

// platform of the environment.
const platform = "linux-64"

// order is what a node process is told, as JSON.
type order struct {
	Contender contender
	// Storage is where the parallel file system is mounted, Own a folder of the
	// node's own on a disk.
	Storage, Own string
	// Floor is the prefix as a file with a file system, for contender floor.
	Floor string
	// Trace is replayed by Ranks processes; where Program is set, they are
	// <prefix>/bin/python3 with these arguments instead.
	Trace   string
	Program []string
	Ranks   int
	// Node is how hpcenv is started.
	Node hpcenv
}

// root is the directory that ranks work below.
func (o *order) root() string {
	switch o.Contender {
	case pixi:
		return filepath.Join(o.Storage, storedPixi)
	case pack:
		return filepath.Join(o.Own, "unpacked")
	}
	return o.Node.prefix()
}

// store that the node's hpcenv is configured with; "" = it is not hpcenv.
func (o *order) store() string {
	switch o.Contender {
	case tree:
		return filepath.Join(o.Storage, treeStoreDir)
	case image, imageDirect, localFirst, localSecond:
		return filepath.Join(o.Storage, storeDir)
	}
	return ""
}

// Folders of a node's own disk.
func (o *order) runDir() string { return filepath.Join(o.Own, "run") }
func (o *order) copies() string { return filepath.Join(o.Own, "copies") }

// prepare is what comes before the clock runs.
func (o *order) prepare() error {
	switch o.Contender {
	case floor:
		return mountDisk(o.Floor, o.Node.prefix())
	case pack:
		return os.MkdirAll(o.root(), 0o755)
	}
	if o.store() == "" {
		return nil
	}
	return alone()
}

// begin is what a node does before its ranks; r gets when hpcenv's parts were done.
func (o *order) begin(r *report) error {
	switch o.Contender {
	case pack:
		cmd := exec.Command("tar", "-xzf", filepath.Join(o.Storage, storedPack), "-C", o.root())
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("unpack: %w: %s", err, out)
		}
	case packRead:
		return discard(filepath.Join(o.Storage, storedPack))
	}
	if o.store() == "" {
		return nil
	}
	local := ""
	if o.Contender == localFirst || o.Contender == localSecond {
		local = o.copies()
	}
	told, err := o.Node.attach(o.store(), o.runDir(), local)
	if r.Attached = now(); err != nil {
		return err
	}
	if o.Contender == imageDirect {
		if err := direct(o.Node.prefix()); err != nil {
			return err
		}
	}
	err = o.Node.activate(o.store(), o.runDir(), told)
	r.Activated = now()
	return err
}

// check tells, when all is measured, whether the node used what it is measured for.
func (o *order) check() error {
	file := ""
	switch o.Contender {
	case image, imageDirect:
		file = o.Node.image(o.store())
	case localFirst, localSecond:
		found, err := copyIn(o.copies())
		if err != nil {
			return err
		}
		file = found
	default:
		return nil
	}
	yes, err := shows(o.Node.prefix(), file)
	if err == nil && !yes {
		err = fmt.Errorf("%s is not what is mounted", file)
	}
	return err
}

// copyIn is the one copy of an image in a directory of copies.
func copyIn(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*"+cache.ImageSuffix))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s has %d copies", dir, len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// end gives back what the node holds.
func (o *order) end() error {
	switch o.Contender {
	case floor:
		return unmount(o.Node.prefix())
	case tree:
		return unmount(o.Node.PrefixRoot)
	case image, imageDirect, localFirst, localSecond:
		return errors.Join(unmount(o.Node.prefix()), unmount(o.Node.PrefixRoot))
	case pack:
		return os.RemoveAll(o.root())
	}
	return nil
}

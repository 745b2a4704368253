package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/attach"
)

// contender is a way to have the environment on a node.
type contender string

const (
	// floor is the prefix on the node's own disk: what all others are compared with.
	floor contender = "floor"
	// tree is hpcenv's tree: the prefix on the storage.
	tree contender = "tree"
	// image is hpcenv's image, mounted from the storage.
	image contender = "image"
	// imageDirect is image with direct I/O on its file.
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

// What is on the storage, by its path there. The image's is as deep as in hpcenv's
// store.
const (
	storedTree  = "store/trees/linux-64/id"
	storedImage = "store/images/linux-64/id.sqfs"
	storedPack  = "home/env.tar.gz"
	storedPixi  = "home/project"
)

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
	// Digest of the image, in hex.
	Digest string
	// Attach is how images are mounted.
	Attach attach.Options
}

// mounted is where the node has what it mounts.
func (o *order) mounted() string { return filepath.Join(o.Own, "prefix") }

// root is the directory that ranks work below.
func (o *order) root() string {
	switch o.Contender {
	case tree:
		return filepath.Join(o.Storage, storedTree)
	case pixi:
		return filepath.Join(o.Storage, storedPixi)
	case pack:
		return filepath.Join(o.Own, "unpacked")
	}
	return o.mounted()
}

// prepare is what comes before the clock runs.
func (o *order) prepare() error {
	if err := os.MkdirAll(o.mounted(), 0o755); err != nil {
		return err
	}
	switch o.Contender {
	case floor:
		return attach.Image(o.Floor, o.mounted(), attach.Options{Type: "ext4", Device: o.Attach.Device})
	case pack:
		return os.MkdirAll(o.root(), 0o755)
	}
	return nil
}

// begin is what a node does before its ranks.
func (o *order) begin() error {
	img, own := filepath.Join(o.Storage, storedImage), filepath.Join(o.Own, "id.sqfs")
	switch o.Contender {
	case image, imageDirect:
		opt := o.Attach
		opt.Direct = o.Contender == imageDirect
		return attach.Image(img, o.mounted(), opt)
	case localFirst, localSecond:
		// Its file is on the node's own disk: there, reading again costs nothing that
		// others would feel, and direct I/O keeps it from being in memory twice.
		opt := o.Attach
		opt.Direct = true
		return attach.Local(img, own, o.Digest, o.mounted(), opt)
	case pack:
		cmd := exec.Command("tar", "-xzf", filepath.Join(o.Storage, storedPack), "-C", o.root())
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("unpack: %w: %s", err, out)
		}
	case packRead:
		return discard(filepath.Join(o.Storage, storedPack))
	}
	return nil
}

// end gives back what the node holds.
func (o *order) end() error {
	switch o.Contender {
	case floor, image, imageDirect, localFirst, localSecond:
		return attach.Release(o.mounted())
	case pack:
		return os.RemoveAll(o.root())
	}
	return nil
}

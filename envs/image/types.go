package image

import (
	"errors"
	"fmt"

	"github.com/hpcenv/hpcenv/internal/making"
)

// Error classes. Those of package cache come through as well: cache.ErrStore for
// what the file systems refuse, cache.ErrIntegrity for an image that is not what its
// Record says.
var (
	// ErrTool: there is no mksquashfs that can make images, or it failed.
	ErrTool = errors.New("image cannot be made")
	// ErrRoom: the disk has not the room that making it takes.
	ErrRoom = errors.New("not enough room")
	// ErrFormat: a file is no squashfs image of the kind that is made here.
	ErrFormat = errors.New("not an image as hpcenv makes them")
)

// Record is what is known of a published image; see making.Image.
type Record = making.Image

// Superblock of an image; see making.Superblock.
type Superblock = making.Superblock

// Delivery says in which form environments are published: a site's choice, or that
// of the owner of a user's own store. It decides nothing about their content.
type Delivery string

const (
	// Tree: a directory with all files, linked from the pool.
	Tree Delivery = "tree"
	// Image: one file.
	Image Delivery = "image"
	// Both of them.
	Both Delivery = "both"
)

// ClusterDefault is the delivery of a cluster's store whose site has not chosen,
// OwnDefault that of a user's own store, which root never mounts.
const (
	ClusterDefault = Image
	OwnDefault     = Tree
)

// Parse reads a delivery.
func Parse(s string) (Delivery, error) {
	switch d := Delivery(s); d {
	case Tree, Image, Both:
		return d, nil
	}
	return "", fmt.Errorf("%q is no delivery; there are tree, image and both", s)
}

// WantsTree and WantsImage tell what a delivery has; that of the zero value is Tree.
func (d Delivery) WantsTree() bool { return d != Image }

// WantsImage: see WantsTree.
func (d Delivery) WantsImage() bool { return d == Image || d == Both }

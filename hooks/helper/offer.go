package helper

import (
	"github.com/hpcenv/hpcenv/envs/image"
)

// offer is what the opening child, which is the user, sends with a descriptor; root
// answers offers of images with requests until one is done.
type offer struct {
	// Name is the path that the descriptor was opened by.
	Name string
	// ID of the environment that it is; "" = the directory of all trees.
	ID string `json:",omitempty"`
	// Image is what was published of an image; nil = it is a directory.
	Image *image.Record `json:",omitempty"`
	// Copied: root has a copy of it, and no descriptor comes.
	Copied bool `json:",omitempty"`
	// End: there is no more, and no descriptor.
	End bool `json:",omitempty"`
}

// request is what root asks of the child, about the loop device that comes with it.
type request struct {
	// Configure: show the image in it. Else: is it the image's already?
	Configure bool `json:",omitempty"`
	// Tree: open the environment's tree; no device comes with it.
	Tree bool `json:",omitempty"`
	// Read: send what this file holds, its path being below the store's root; no device
	// comes with it.
	Read string `json:",omitempty"`
	// Done: the image is mounted; no device comes with it.
	Done bool `json:",omitempty"`
}

// answer to a request.
type answer struct {
	// Yes: it is the image's device (now); the file or the tree that was asked for is there,
	// and comes with the answer unless it is a long file.
	Yes bool
	// Taken: another process has configured the device meanwhile.
	Taken bool `json:",omitempty"`
}

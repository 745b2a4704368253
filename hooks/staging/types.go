package staging

import (
	"errors"
	"time"
)

// Error classes. With all but ErrSource the store's own image may be mounted instead.
var (
	// ErrSource: what the store's file holds is not what was published.
	ErrSource = errors.New("the store's image is damaged")
	// ErrDisk: what the node's disk gives back is not what was written.
	ErrDisk = errors.New("the node's disk damaged the copy")
	// ErrRoom: there is not enough room, and not enough of it may be made.
	ErrRoom = errors.New("no room for a copy")
	// ErrMemory: the directory's file system is the node's memory.
	ErrMemory = errors.New("the node's local storage is its memory")
	// ErrForeign: the directory, or a file in it, is not root's alone.
	ErrForeign = errors.New("not root's alone")
	// ErrBusy: the copy is not finished yet.
	ErrBusy = errors.New("the copy is not finished yet")
)

// Config is what root-owned configuration says.
type Config struct {
	// Dir holds the copies. It is made, in a directory that is there.
	Dir string
	// Budget bounds all copies together, in bytes; 0 = the file system alone does.
	Budget int64
	// Memory allows a directory in the node's memory.
	Memory bool
	// Wait bounds how long one launch waits for a copy.
	Wait time.Duration
}

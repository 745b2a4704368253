package slowfs

import (
	"fmt"
	"sync/atomic"
)

// Kind of an operation.
type Kind int

// The kinds. All but Read are operations on metadata.
const (
	Lookup  Kind = iota
	Missing      // a lookup of what is not there
	Getattr
	Open
	Opendir
	Readdir
	Readlink
	Statfs
	Read
	kinds
)

// String is the kind's name.
func (k Kind) String() string {
	return [kinds]string{"lookup", "missing", "getattr", "open", "opendir", "readdir", "readlink", "statfs", "read"}[k]
}

// Counts is how often each kind was asked for, and how many bytes were read.
type Counts struct {
	Ops   [kinds]int64
	Bytes int64
}

// Metadata is the number of operations on metadata.
func (c Counts) Metadata() int64 {
	sum := int64(0)
	for k, n := range c.Ops {
		if Kind(k) != Read {
			sum += n
		}
	}
	return sum
}

// Sub is what was asked for since earlier.
func (c Counts) Sub(earlier Counts) Counts {
	for k := range c.Ops {
		c.Ops[k] -= earlier.Ops[k]
	}
	c.Bytes -= earlier.Bytes
	return c
}

// Add is both together.
func (c Counts) Add(other Counts) Counts {
	for k := range c.Ops {
		c.Ops[k] += other.Ops[k]
	}
	c.Bytes += other.Bytes
	return c
}

// String lists the kinds that were asked for.
func (c Counts) String() string {
	s := ""
	for k, n := range c.Ops {
		if n > 0 {
			s += fmt.Sprintf("%s %d, ", Kind(k), n)
		}
	}
	return s + fmt.Sprintf("%d bytes", c.Bytes)
}

// counters are the Counts of a mount while it is used.
type counters struct {
	ops   [kinds]atomic.Int64
	bytes atomic.Int64
}

func (c *counters) snapshot() Counts {
	var out Counts
	for k := range c.ops {
		out.Ops[k] = c.ops[k].Load()
	}
	out.Bytes = c.bytes.Load()
	return out
}

package trace

import "syscall"

// Kind of an operation.
type Kind string

// The kinds; the words are those of the written form.
const (
	Open     Kind = "open"
	Stat     Kind = "stat"
	Lstat    Kind = "lstat"
	Fstat    Kind = "fstat"
	Access   Kind = "access"
	Readlink Kind = "readlink"
	List     Kind = "list"
	ReadFile Kind = "read"  // at the file's position
	ReadAt   Kind = "pread" // elsewhere
	Seek     Kind = "seek"
	// Touch maps the file and reads a byte of each page of Pages. strace shows that
	// a file is mapped, and not what of it is used: whoever records fills it in.
	Touch Kind = "touch"
	Close Kind = "close"
)

// Op is one operation.
type Op struct {
	Kind Kind
	// Path below the prefix, "." is the prefix: Open, Stat, Lstat, Access, Readlink.
	Path string
	// Err is how the operation on Path ended; 0 is success. Others succeed.
	Err syscall.Errno
	// File is the number of an opened file: Open that succeeded gives it, Fstat, List,
	// ReadFile, ReadAt, Seek, Touch and Close are about it. Numbers are used again
	// after Close.
	File int
	// Flags of Open, and the mode of Access.
	Flags int
	// Size in bytes that a read or List asks for; where a Seek goes, from Whence.
	Size int64
	// Offset of ReadAt, in bytes; Whence of Seek.
	Offset int64
	// Pages of Touch.
	Pages []Run
}

// Run is Count pages from page First on.
type Run struct{ First, Count int64 }

// PageSize of Runs, in bytes, whatever the host's is.
const PageSize = 4096

// Trace is what a process did, in its order.
type Trace struct{ Ops []Op }

// Files is the path by which each operation's file was opened; "" for
// operations that have a path.
func (t *Trace) Files() []string {
	open := map[int]string{}
	paths := make([]string, len(t.Ops))
	for i, op := range t.Ops {
		switch op.Kind {
		case Open:
			if op.Err == 0 {
				open[op.File] = op.Path
			}
		case Stat, Lstat, Access, Readlink:
		case Close:
			paths[i] = open[op.File]
			delete(open, op.File)
		default:
			paths[i] = open[op.File]
		}
	}
	return paths
}

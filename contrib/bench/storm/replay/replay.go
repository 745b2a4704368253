// Package replay carries out the file operations of a trace on a copy of the
// prefix that they were recorded on, without computing anything between them.
//
// Enters: a trace and a directory. Leaves: the same system calls, and an error
// where one of them ends otherwise than it was recorded.
package replay

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
)

// Replay is a trace made ready: while it runs it allocates nothing.
type Replay struct {
	steps  []step
	files  []int32 // open descriptors by the trace's number
	buffer []byte
	sink   byte // of touched pages
}

// step is an operation with its path as the kernel takes it.
type step struct {
	trace.Op
	path *byte
	text string
}

// maxRead is the largest buffer; a larger read is done in parts of this size.
const maxRead = 16 << 20

// New prepares t for the copy below root.
func New(t *trace.Trace, root string) (*Replay, error) {
	r := &Replay{steps: make([]step, len(t.Ops))}
	size, files := int64(1), 0
	for i, op := range t.Ops {
		s := step{Op: op, text: op.Path}
		if op.Path != "" {
			full := root
			if op.Path != "." {
				full += "/" + op.Path
			}
			var err error
			if s.path, err = unix.BytePtrFromString(full); err != nil {
				return nil, fmt.Errorf("%q: %w", full, err)
			}
		}
		r.steps[i] = s
		if op.Kind != trace.Seek {
			size = max(size, min(op.Size, maxRead))
		}
		files = max(files, op.File+1)
	}
	for i, p := range t.Files() {
		if p != "" {
			r.steps[i].text = p
		}
	}
	r.buffer, r.files = make([]byte, size), make([]int32, files)
	for i := range r.buffer {
		r.buffer[i] = 1 // its pages are there before the clock starts
	}
	return r, nil
}

// Run carries out all operations. It ends at the first that ends otherwise than
// it was recorded: the copy is not a copy then, or its file system failed.
func (r *Replay) Run() (err error) {
	// One thread does it all, as in the recorded program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	i := 0
	// A page that cannot be read is a fault.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("operation %d (%s %s): %v", i, r.steps[i].Kind, r.steps[i].text, fault)
		}
	}()
	for i = range r.steps {
		s := &r.steps[i]
		err := r.step(s)
		if err != s.Err {
			return fmt.Errorf("operation %d (%s %s) ended with %s, recorded was %s", i, s.Kind, s.text, said(err), said(s.Err))
		}
	}
	return nil
}

func said(err syscall.Errno) string {
	if err == 0 {
		return "success"
	}
	return err.Error()
}

func (r *Replay) step(s *step) syscall.Errno {
	var st unix.Stat_t
	var err syscall.Errno
	at := uintptr(unsafe.Pointer(s.path)) // s keeps it
	cwd := uintptr(unix.AT_FDCWD & (1<<64 - 1))
	fd := func() uintptr { return uintptr(r.files[s.File]) }
	switch s.Kind {
	case trace.Open:
		var n uintptr
		n, _, err = unix.Syscall6(unix.SYS_OPENAT, cwd, at, uintptr(s.Flags|unix.O_CLOEXEC), 0, 0, 0)
		if err == 0 {
			r.files[s.File] = int32(n)
		}
	case trace.Stat:
		_, _, err = unix.Syscall6(sysStatAt, cwd, at, uintptr(unsafe.Pointer(&st)), 0, 0, 0)
	case trace.Lstat:
		_, _, err = unix.Syscall6(sysStatAt, cwd, at, uintptr(unsafe.Pointer(&st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	case trace.Access:
		_, _, err = unix.Syscall(unix.SYS_FACCESSAT, cwd, at, uintptr(s.Flags))
	case trace.Readlink:
		var link [unix.PathMax]byte
		_, _, err = unix.Syscall6(unix.SYS_READLINKAT, cwd, at, uintptr(unsafe.Pointer(&link[0])), unix.PathMax, 0, 0)
	case trace.Fstat:
		_, _, err = unix.Syscall(unix.SYS_FSTAT, fd(), uintptr(unsafe.Pointer(&st)), 0)
	case trace.List:
		_, _, err = unix.Syscall(unix.SYS_GETDENTS64, fd(), uintptr(unsafe.Pointer(&r.buffer[0])), uintptr(min(s.Size, maxRead)))
	case trace.ReadFile:
		err = r.read(unix.SYS_READ, fd(), s.Size, 0)
	case trace.ReadAt:
		err = r.read(unix.SYS_PREAD64, fd(), s.Size, s.Offset)
	case trace.Seek:
		_, _, err = unix.Syscall(unix.SYS_LSEEK, fd(), uintptr(s.Size), uintptr(s.Offset))
	case trace.Touch:
		err = r.touch(fd(), s.Pages)
	case trace.Close:
		_, _, err = unix.Syscall(unix.SYS_CLOSE, fd(), 0, 0)
	}
	return err
}

// read asks once, as was recorded: what a file has is less than what is asked
// for at its end only.
func (r *Replay) read(call, fd uintptr, size, offset int64) syscall.Errno {
	for {
		part := min(size, maxRead)
		n, _, err := unix.Syscall6(call, fd, uintptr(unsafe.Pointer(&r.buffer[0])), uintptr(part), uintptr(offset), 0, 0)
		if size -= part; err != 0 || size == 0 || int64(n) < part {
			return err
		}
		offset += part
	}
}

// touch reads a byte of each page, through a mapping as the loader has it.
func (r *Replay) touch(fd uintptr, runs []trace.Run) syscall.Errno {
	end := int64(0)
	for _, p := range runs {
		end = max(end, (p.First+p.Count)*trace.PageSize)
	}
	if end == 0 {
		return 0
	}
	data, err := unix.Mmap(int(fd), 0, int(end), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return errnoOf(err)
	}
	for _, p := range runs {
		for page := p.First; page < p.First+p.Count; page++ {
			r.sink += data[page*trace.PageSize]
		}
	}
	return errnoOf(unix.Munmap(data))
}

func errnoOf(err error) (errno syscall.Errno) {
	if err != nil && !errors.As(err, &errno) {
		return syscall.EINVAL
	}
	return errno
}

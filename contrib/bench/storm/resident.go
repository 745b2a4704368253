package main

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
)

// resident are the pages of a file that the kernel has in memory.
func resident(path string) (runs []trace.Run, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(data)) }()
	if os.Getpagesize() != trace.PageSize {
		return nil, errors.New("recording needs a kernel with pages of 4096 bytes")
	}
	in := make([]byte, (len(data)+trace.PageSize-1)/trace.PageSize)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
		return nil, errno
	}
	for i, b := range in {
		if b&1 == 0 {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].First+runs[n-1].Count == int64(i) {
			runs[n-1].Count++
		} else {
			runs = append(runs, trace.Run{First: int64(i), Count: 1})
		}
	}
	return runs, nil
}

package activation

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func memFile(name, content string) (*os.File, error) {
	fd, err := unix.MemfdCreate("hpcenv-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("activation scripts: memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteString(content); err != nil {
		return nil, errors.Join(fmt.Errorf("activation scripts: memory file: %w", err), f.Close())
	}
	return f, nil
}

// diesWithUs: a process group of its own, which ends when the thread that started
// it does.
func diesWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

//go:build !linux

package activation

import (
	"fmt"
	"os"
	"syscall"
)

// memFile: scripts are run on nodes, which have Linux.
func memFile(name, _ string) (*os.File, error) {
	return nil, fmt.Errorf("%w: %s: activation scripts run on Linux only", ErrScript, name)
}

func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

//go:build !linux

package sandbox

import (
	"fmt"
	"os"
	"runtime"
)

func seccompFile(bool) (*os.File, error) {
	return nil, fmt.Errorf("%w: only Linux has name spaces and filters of system calls, this is %s", ErrNoSandbox, runtime.GOOS)
}

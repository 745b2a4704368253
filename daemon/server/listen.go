package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Listen makes the socket at path, open to every user of the host. A socket
// that a dead daemon left is replaced; one that answers is an error.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if conn, err := net.DialTimeout("unix", path, 2*time.Second); err == nil {
		if err := conn.Close(); err != nil {
			return nil, fmt.Errorf("socket %s: %w", path, err)
		}
		return nil, fmt.Errorf("socket %s: another hpcenvd answers there\nnext: systemctl status hpcenvd", path)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("socket %s: left by a daemon that is gone, and cannot be removed: %w", path, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), l.Close())
	}
	return l, nil
}

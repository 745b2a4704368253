//go:build !linux

package image

import "syscall"

// dieWithParent is for Linux; images are made nowhere else.
func dieWithParent() *syscall.SysProcAttr { return nil }

package image

import "syscall"

// dieWithParent has the kernel end a child when this process dies, however it dies.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

package helper

import "syscall"

// errStale is what NFS answers for a handle that the server no longer has.
var errStale error = syscall.ESTALE

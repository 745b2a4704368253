package main

import "syscall"

// dup2 is dup3 without flags: arm64 has no other.
func dup2(from, to int) error { return syscall.Dup3(from, to, 0) }

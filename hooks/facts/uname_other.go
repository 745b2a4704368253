//go:build !linux

package facts

// uname: hosts that are no nodes have no facts of their own.
func uname() string { return "" }

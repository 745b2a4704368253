// Package arch holds, as a test, which rooms of the house may import which, and
// what the command line must not link. It has no code.
package arch

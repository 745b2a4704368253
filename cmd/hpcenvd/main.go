//go:build linux

// Command hpcenvd is the per-cluster service: it fetches, verifies and builds
// what locks name, in a store that only its account writes.
package main

import (
	"os"

	"github.com/hpcenv/hpcenv/cmd/hpcenvd/serve"
)

func main() { os.Exit(serve.Main(os.Args[1:])) }

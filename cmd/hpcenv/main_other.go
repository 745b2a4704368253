//go:build !linux

// Command hpcenv, where there is no Linux: what a lock holds, and bundles of it
// for a cluster.
package main

import (
	"os"

	"github.com/hpcenv/hpcenv/cmd/hpcenv/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }

// Command factstree unpacks a recorded node (package factstest) into a directory,
// for `hpcenv slurm-hook facts --root`:
//
//	factstree            names all
//	factstree NAME DIR   unpacks one
package main

import (
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

func main() {
	switch len(os.Args) {
	case 1:
		for _, n := range factstest.Names() {
			fmt.Println(n)
		}
	case 3:
		if err := factstest.Unpack(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: factstree [NAME DIR]")
		os.Exit(2)
	}
}

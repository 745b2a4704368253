// Package helper is what runs on a node and in submit hooks on behalf of the
// SPANK shim and of Slurm's own hooks.
package helper

import (
	"fmt"
	"os"
)

// Main runs the helper; args[0] is "spank" or "slurm-hook". It returns the exit
// code.
func Main(args []string) int {
	fmt.Fprintf(os.Stderr, "hpcenv: %s: this build has no node helper\n", args[0])
	return 1
}

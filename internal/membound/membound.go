// Package membound keeps a short-lived program's memory small.
//
// Enters: nothing. Leaves: a soft limit of the garbage collector, which then
// works harder instead of letting garbage double what is in use. A package whose
// decoder has a window of 128 MiB would otherwise leave room for as much again.
package membound

import (
	"os"
	"runtime/debug"
)

// Limit in bytes: what one decoder of the largest ordinary window, and what is
// needed beside it, take.
const Limit = 190 << 20

// Set sets the limit, unless the user has set one (GOMEMLIMIT).
func Set() {
	if _, own := os.LookupEnv("GOMEMLIMIT"); !own {
		debug.SetMemoryLimit(Limit)
		// Below the limit memory is cheaper than collecting it.
		debug.SetGCPercent(1600)
	}
}

// Package outside takes a process out of the Slurm step that it was started in, for those
// that serve others, too, and must outlast it: neither the step's end nor its limits are
// theirs, and they keep nothing of the step's.
//
// Enters: a process of root's that was started in a session of its own (Setsid), by one that
// ends before it, so that it is no descendant of the step's slurmstepd. Leaves: the same
// process, in the node's own mounts and out of the step's cgroups.
package outside

import (
	"errors"
	"os"
)

// Flag is what Leave adds to the arguments of a program that it executes again.
const Flag = "--apart"

// Leave puts the process into the mounts of process 1 and out of the cgroups of a Slurm step,
// in every hierarchy. For the mounts it executes the program once more, with the same
// arguments and descriptors and with Flag: again tells that Flag was there. What it could not
// leave the error says; the process may go on, and ends or stays with the step.
func Leave(again bool) error {
	var err error
	if !again {
		err = leaveMounts(os.Args)
	}
	return errors.Join(err, leaveCgroups("/", os.Getpid()))
}

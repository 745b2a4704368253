// Package smoke tries an environment out on the node that it is active on: every
// importable module of its packages is imported, and every file that programs open at
// run time is opened, each in a process of its own.
//
// Enters: the prefix of an environment, the variables in which it is active. Leaves:
// lines on stdout (Encoder) that whoever started it reads (Decoder), one per module,
// so that what was tried is known also if the node, or the job, does not last.
//
// What runs here is the packages' own code, as the user who asked for it, within the
// limits of the job: never call it from a service.
package smoke

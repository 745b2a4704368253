// Package wheels compares how hpcenv installs wheels with how uv and pip do.
//
// Enters: wheels on this machine. Leaves: the differences between what each of the
// two references and hpcenv put into one and the same prefix, file by file and row
// by row of RECORD. (oracle.Difference and its ledger are used for it: what it calls
// rattler's is here the reference's.)
//
// The prefix is that of a Python which finds its own library below itself, as one
// of a conda environment does; it is made of this machine's Python.
package wheels

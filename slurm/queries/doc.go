// Package queries asks Slurm what the rest of the house wants to know.
//
// Enters: a context whose deadline bounds every question. Leaves: plain values.
// Slurm's own commands are run (scontrol), never its libraries, so one binary
// serves every Slurm release; what they print is parsed strictly by field name,
// and a test holds recorded output of the oldest and the newest release served.
package queries

// Package sandbox runs the code of packages, with bubblewrap.
//
// Enters: a Spec (a command, the directories that it sees, its bounds). Leaves: a
// command to start. Package code never runs in another way.
//
// What runs in it sees /usr, the libraries and the bound directories. It has no
// network, no other processes, no home, no store, no privileges, no variables but
// those of the Spec, and no way to get them: all name spaces are its own, the
// system calls for more are refused, and no program gains rights by set-user-id.
// It is the first process of its own process name space, so when it ends, or this
// program does, whatever it started ends too.
package sandbox

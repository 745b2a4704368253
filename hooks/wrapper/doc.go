// Package wrapper starts programs in an environment without SPANK: what
// `hpcenv run`, `hpcenv shell` and `hpcenv shell-hook` do.
//
// Enters: a lock's bytes, an environment's name, the caller's environment
// variables, and a service that can prepare what is not there yet. Leaves: the
// running program (this process becomes it), or shell commands on stdout.
//
// A prefix that this host has not attached (the store's tree is there, but
// nothing is bound at the prefix root) is attached in a user and mount
// namespace of the caller's own: a small holder process makes it, and the
// program joins it. So is one that lies in a group's part of the store, always:
// no host attaches those. Within a Slurm step all programs of one node share one
// holder, since shared memory between ranks needs them in one namespace.
package wrapper

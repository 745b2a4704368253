// Package wrapper starts programs in an environment without SPANK: what
// `hpcenv run`, `hpcenv shell` and `hpcenv shell-hook` do.
//
// Enters: a lock's bytes, an environment's name, the caller's environment
// variables, and a service that can prepare what is not there yet. Leaves: the
// running program (this process becomes it), or shell commands on stdout.
//
// A prefix that this host has not attached is attached in a user and mount
// namespace of the caller's own: a small holder process makes it, and the
// program joins it. There the store's image is shown by squashfuse, or the
// store's tree is bound. So is what lies in a group's part of the store, always:
// no host attaches that. Within a Slurm step all programs of one node share one
// holder, since shared memory between ranks needs them in one namespace; what is
// missing in it is attached when it is asked for. Holders are for a step and not
// for a job, since Slurm kills them, and squashfuse, with the step that began
// them.
//
//	resolve.go    which environment, by the store's files or by the service
//	ways.go       what of it can be attached without root: image, tree
//	namespace.go  this process goes on within a namespace (nsenter)
//	hold.go       which holder: the step's, under a lock, or a new one
//	start.go      starting one; what the kernel's switches say against it
//	message.go    what is asked of a holder
//	keep.go       the holder
//	mirror.go     room for a prefix where none can be made
//	serve.go      squashfuse
//	run.go        what the process becomes; shell.go: an interactive shell
package wrapper

// Package leases knows what may not be collected, and why: what jobs that Slurm knows may
// need, and what has a name.
//
// Enters: what submissions hand over (a token and the environments of the pin), over the
// socket or in files of inbox/; names that administrators give; all jobs of the cluster.
// Leaves: Held, the ids that something needs, or an error that says why that is not known:
// then nothing may be collected.
//
// A lease begins before its job exists and is bound to it afterwards: by the user and the
// time of submission, and from then on by the job's number, which a requeue keeps, until
// slurmctld has forgotten the job. Where several jobs of the user could be meant, it is
// bound to all of them: a lease may hold too long, never too short.
//
// The records are files of the store (pins/, names/), so that nothing is lost with the
// daemon's index or host. One that ended goes into one file per month, since shared
// storage counts inodes.
package leases

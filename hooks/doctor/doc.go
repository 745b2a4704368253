// Package doctor looks at one host for an administrator: whether hpcenv can do its work
// there, what is in its way, and what to do.
//
// Enters: the host's files and commands (Slurm's, MUNGE's, the plugin, the store, the
// kernel), hpcenv's configuration, the daemon if it answers. Leaves: a Report of
// findings, each with a next step where something is to be done, and a bundle of what
// others need to help, without secrets. What cannot be looked at (no root, no Slurm, a
// stopped slurmctld) is said and never taken for good. Nothing is changed; what tries the
// store's file system writes below its tmp/ alone, as the store's owner or root.
//
// Storage may hang: every look at it is given up after a while, and that is a finding.
package doctor

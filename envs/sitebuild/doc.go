// Package sitebuild says what must be compiled on the nodes of a site for an
// environment: wrappers of GASNet-EX for its network, of MPI for its MPI.
//
// Enters: what the site declared, an environment's packages, what a node compiles with.
// Leaves: which declarations apply, the id of what is built (an overlay), the task of
// the build account's job, the published overlay, and the record by which nodes find it.
//
//	declaration.go  what a site declares, checked; which environments it applies to
//	key.go          what a build depends on, and the overlay's id
//	task.go         the job
//	publish.go      from a job's verified outcome to trees/<platform>/<overlay id>, or to
//	                images/<platform>/<overlay id>.sqfs, as environments are delivered
//	overlay.go      what is published, described
//	record.go       meta/<environment id>/<platform>.overlays.json, for submissions and nodes
//	apply.go        which overlays a node uses, and the variables of a launch
//
// An overlay lies beside the prefixes, at <prefix root>/<overlay id> on every node: its id
// is known before it is built, so the path may be written into it. Its description is
// meta/<overlay id>/<platform>.overlay.json, a name that no reader of environments takes
// for one. A record is small and names all that a node needs: launches read nothing else.
package sitebuild

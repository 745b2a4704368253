// Package daemon is the room of the per-cluster service.
//
//	api        wire types and the client; a leaf that hooks and cmd may use
//	service    the work behind the API, on a store; also used without a daemon
//	server     the API on a Unix socket; work that outlives its clients
//	inventory  what nodes the cluster has, as snapshots in the store
//	config     what an administrator wrote
//
// Enters: locks, from the users of this host. Leaves: environments in the store
// (envs/prepare makes them) and answers about them. cmd/hpcenvd puts the parts
// together.
package daemon

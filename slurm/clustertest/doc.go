// Package clustertest runs the user stories on a real Slurm cluster: the
// development cluster of contrib/devcluster with the real shim, helper, daemon
// and the demo channel's packages. Each story is one testdata/script/*.txtar, or
// testdata/errors for what goes wrong, or testdata/mixed for a cluster of unlike
// nodes: there each node is read from a recorded tree (testdata/nodes), and the
// project is that of contrib/mixed-clusters.md, whose commands a story runs.
//
// The tests have the build tag "cluster" and need root; `make test` runs them.
// A story ends by asserting that no node is drained and nothing is left
// running.
package clustertest

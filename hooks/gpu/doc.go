// Package gpu is what a node knows of the health of its GPUs: the driver is
// asked in a child program, what it said is judged, and both are kept on the
// node.
//
// Enters: the node's files, and one JSON object from cmd/hpcenv-gpu, which alone
// links the driver's library (Probe). Leaves: a Report, a Verdict on it (Judge),
// the Record that the health check keeps in the run directory (Refresh) and that
// everybody reads (Load), and probes of package facts that know what the driver
// said (Refine).
//
// The child is a program of its own because drivers crash, hang, and hang in ways
// that SIGKILL does not end: the parent waits for a bounded time only, never for
// the child's end, and starts no second one while the first still exists.
// Launches start nothing: they read the Record.
//
// Nothing here but names of files is NVIDIA's alone: a probe for another vendor
// prints the same Report.
package gpu

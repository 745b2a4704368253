// Package launch judges a node for one launch: it gathers what the checks of package
// preflight look at, runs them, and turns what they found into what the user is told and
// what becomes of the launch.
//
// Enters: the node's facts, the environment and what it needs, the variables of the
// process that is to run, the run directory; from the job and the site how strict to be
// (Policy). Leaves: an Outcome. It is used by the SPANK helper in the first task of each
// node, and by `hpcenv run` and `hpcenv shell`.
//
// It runs as the user, inside a step's limits. With a fresh record of the GPUs nothing is
// started; without one the driver is asked in a child program, for a bounded time, and
// only if the step uses GPUs.
package launch

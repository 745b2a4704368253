// Package hooks is the room for what runs where jobs are submitted and where
// they run: the pin that a submission carries (pin), the helper behind the
// SPANK shim and the prolog (helper), and the launcher for sites without SPANK
// (wrapper); what is checked before a launch (preflight), what becomes of it (launch),
// and how a node is (health), which a job may ask root to look at (look).
//
// Enters: what the shim, slurmd or a user hands over, and the store. Leaves: a
// pin, an attached prefix, changes of a task's environment. A launch never talks
// to the daemon; only a submission may.
package hooks

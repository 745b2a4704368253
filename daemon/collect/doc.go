// Package collect decides what of a store goes, and removes it.
//
// Enters: the environments that there are, with their size and last use (the index), what
// is held and why (leases), the budgets. Leaves: a Plan, which says of each environment
// whether it goes or stays, and why; and, when it is executed, a store within its budget.
//
// Plan is pure, and what `hpcenv admin gc --dry-run` prints is what is executed. Before
// each removal the leases are looked at again. Nothing is planned while it is not known
// what jobs need, or by an index that was not compared with the store. What is removed
// lies in trash/ for a time of grace.
package collect

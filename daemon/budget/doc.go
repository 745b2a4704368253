// Package budget bounds what users, and all members of a group together, may have of a
// daemon: bytes and inodes of the environments that they asked for, work at one time, and
// the channels that their locks may name.
//
// Enters: rules, who asks, and what would be made for them. Leaves: leave, or an error of
// class ErrBudget that says whose budget it is and what to do. What is there already is
// anybody's who may read it: it is never refused, and a submission of it asks nobody.
package budget

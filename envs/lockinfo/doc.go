// Package lockinfo says what a lock holds, and how two locks differ, in words for
// people: sizes, what packages ask of a node, by what programs would communicate,
// and what is odd.
//
// Enters: a parsed lock, and what a store knows of its packages, if there is one.
// Leaves: a Report, or a Difference. No I/O, and no judgement: whether a node
// fits is for those to say who know the node.
package lockinfo

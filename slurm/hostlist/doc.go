// Package hostlist reads and prints Slurm's hostlist expressions:
// gpu[001-096,100],gh[01-24], rack[0-1]node[0-3].
//
// Enters: an expression (Expand), or names of hosts (Compress). Leaves: names, or
// the expression that Slurm itself would print for them when sorted. What Slurm
// refuses is refused; where Slurm silently makes something odd of a broken
// expression, it is refused too.
package hostlist

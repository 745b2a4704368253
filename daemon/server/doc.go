// Package server answers for the daemon: HTTP/JSON on a Unix socket for users of its own
// host, and on TCP for other hosts, with one stream of lines per prepare.
//
// Enters: requests. Who asks is known by SO_PEERCRED on the socket (it is open to all;
// there is nothing to log in to) and by MUNGE on TCP. Leaves: the answers of the rooms
// behind it (Backends).
//
// What can be asked, and by whom, is one table (table.go): a row is method, pattern, the
// roles that may ask, and a function. Nothing is answered that has no row.
//
// Work is not the client's: a prepare runs under the server's context, whoever
// asked. Clients that ask for the same thing meanwhile join it, clients that
// leave change nothing, and only stopping the daemon ends it.
package server

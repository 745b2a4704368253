// Package server puts a Backend on a Unix socket: HTTP/JSON, one stream of
// lines per prepare.
//
// Enters: requests of this host's users, known by SO_PEERCRED (the socket is
// open to all; there is nothing to log in to). Leaves: the Backend's answers.
//
// Work is not the client's: a prepare runs under the server's context, whoever
// asked. Clients that ask for the same thing meanwhile join it, clients that
// leave change nothing, and only stopping the daemon ends it.
package server

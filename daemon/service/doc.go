// Package service does the work of hpcenvd on a store: it implements
// api.Service in-process. The daemon's server puts it on a socket; the command
// line uses it directly on a store of the user's own.
//
// Enters: API requests. Leaves: API answers. Errors keep their classes;
// Classify, here and nowhere else, turns them into exit codes.
package service

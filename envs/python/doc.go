// Package python is the room for what Python's packaging standards say, without
// installing anything: which Python and platform packages are chosen for
// (Target), what of a lock is wanted (Selection), and which interpreter a lock
// gets that names none (Interpreter, Choose).
//
// Enters: texts of users and administrators. Leaves: values, or errors that say
// what to do. Nothing here does I/O, and nothing looks at the machine it runs
// on.
//
//	target.go       the Python and platform that packages are chosen for
//	selection.go    extras, groups, members: what a user asks of a lock
//	interpreter.go  the interpreters of a site, and choosing one
//	pin.go          .python-version
//	name/           names of projects and extras (PEP 503)
//	version/        versions and clauses about them (PEP 440)
//	marker/         environment markers (PEP 508, PEP 751)
//	requirement/    requirement lines (PEP 508)
//	tag/            compatibility tags and the names of archives (PEP 425, 427)
package python

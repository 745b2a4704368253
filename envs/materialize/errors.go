package materialize

import "errors"

var (
	// ErrUnlinkable: these packages cannot make a prefix (two of one name, a
	// noarch python package without python, another platform's package, entries
	// of the lock that are not supported). The text names them all.
	ErrUnlinkable = errors.New("environment cannot be linked")
	// ErrPrefix: the prefix itself cannot be used (too long, not absolute, a
	// character that breaks scripts, longer than a placeholder in a binary).
	ErrPrefix = errors.New("prefix cannot be used")
	// ErrScript: a link script failed, and environments of which one fails are not
	// wanted here.
	ErrScript = errors.New("link script failed")
)

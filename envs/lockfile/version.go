package lockfile

import (
	"fmt"
	"strconv"
)

// The versions of pixi.lock that this program reads. Version 1 is read too: it is
// a conda-lock.yml.
const (
	MinVersion = 4
	MaxVersion = 7
)

// VersionError says that a lock has a version that is not read. It wraps
// ErrLock.
type VersionError struct{ Version int }

func (e *VersionError) Error() string {
	if e.Version > MaxVersion {
		return fmt.Sprintf("%s: lock file has version %d, this hpcenv reads up to %d; next: use a newer hpcenv, or write the lock with a pixi that writes version %d",
			ErrLock, e.Version, MaxVersion, MaxVersion)
	}
	return fmt.Sprintf("%s: version %d of pixi's locks is not read, only %d to %d; next: `pixi lock` with a current pixi rewrites it as %d",
		ErrLock, e.Version, MinVersion, MaxVersion, MaxVersion)
}

func (e *VersionError) Unwrap() error { return ErrLock }

// readVersion finds the version wherever it stands: it need not come first.
func readVersion(root *value) (int, error) {
	if root.kind != mapping {
		return 0, fmt.Errorf("%w: line %d: a lock is a mapping, this is %s", ErrLock, root.line, root.kind)
	}
	v := root.get("version")
	if v == nil {
		return 0, fmt.Errorf("%w: it has no `version`; is it a pixi.lock?", ErrLock)
	}
	n, err := strconv.ParseInt(v.text, 10, 32)
	if v.kind != scalar || !v.plain || err != nil || n <= 0 {
		return 0, fmt.Errorf("%w: line %d: `version` must be a whole number from 1 on, it is `%s`", ErrLock, v.line, v.text)
	}
	if n != 1 && (n < MinVersion || n > MaxVersion) {
		return 0, &VersionError{Version: int(n)}
	}
	return int(n), nil
}

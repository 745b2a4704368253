package editable

import (
	"errors"
	"fmt"
	"strings"
)

// ErrRefused is the class of errors about a project that cannot be used from its
// source tree.
var ErrRefused = errors.New("the project cannot be used from its source tree")

// Refusal says why, and what to do. It wraps ErrRefused.
type Refusal struct {
	// Name of the project, as the lock has it; Dir is its directory.
	Name, Dir string
	// Line of pyproject.toml that it is about; 0 = none.
	Line int32
	// Reason is half a sentence; Next says what to do.
	Reason, Next string
}

// Error implements error.
func (r *Refusal) Error() string { return r.text("; next: ") }

// text is reason and remedy with something between them.
func (r *Refusal) text(between string) string {
	where := r.Dir
	if r.Line > 0 {
		where = fmt.Sprintf("%s/pyproject.toml:%d", strings.TrimSuffix(r.Dir, "/"), r.Line)
	}
	return fmt.Sprintf("%s (%s): %s%s%s", r.Name, where, r.Reason, between, r.Next)
}

// Unwrap gives the class.
func (r *Refusal) Unwrap() error { return ErrRefused }

// buildWheel is what always works: a wheel of one's own in the lock.
const buildWheel = "build a wheel of it (`uv build --wheel`, on a host of the cluster) and name that file in the manifest in place of the directory"

// refuse makes a Refusal about this project. A line of 0 names none.
func (r *reader) refuse(line int32, next, format string, args ...any) error {
	return &Refusal{Name: r.tree.Name, Dir: r.tree.Dir, Line: line, Reason: fmt.Sprintf(format, args...), Next: next}
}

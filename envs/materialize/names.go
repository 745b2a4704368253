package materialize

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
)

// refusedName explains an error that the file system has with a name of the
// plan; nil where err is about something else. Staging was empty and the plan
// has each path once: a name that is there already is another one in the file
// system's eyes.
func (w *writer) refusedName(op *Op, err error) error {
	switch {
	case errors.Is(err, unix.EEXIST):
		other := w.plan.alike(op)
		if other == nil {
			return nil
		}
		return fmt.Errorf("%s and %s are one name on the store's file system, which does not tell upper from lower case, so this environment cannot be there: %w: %w; keep the store on a file system that does",
			w.plan.named(op), w.plan.named(other), cache.ErrStore, unix.EEXIST)
	case errors.Is(err, unix.EILSEQ), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENAMETOOLONG):
		return fmt.Errorf("the store's file system refuses the name of %s: %w: %w; keep the store on a file system that takes every name but / and NUL of up to 255 bytes (a mount option for the character set may do)",
			w.plan.named(op), cache.ErrStore, cause(err))
	}
	return nil
}

// cause is the file system's own word.
func cause(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// named tells what op is and whose.
func (p *Plan) named(op *Op) string {
	if op.Owner < 0 {
		return fmt.Sprintf("%q", op.Path)
	}
	return fmt.Sprintf("%q (package %s)", op.Path, label(p.Packages[op.Owner]))
}

// alike is another operation whose path differs in case only.
func (p *Plan) alike(op *Op) *Op {
	for i := range p.Ops {
		if o := &p.Ops[i]; o.Path != op.Path && strings.EqualFold(o.Path, op.Path) {
			return o
		}
	}
	return nil
}

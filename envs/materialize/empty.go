package materialize

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
)

// empties are the empty files of a prefix, a tenth of a Python stack. The pool
// has none, since all environments together would want more names of one inode
// than file systems give. Within a prefix they share one, though: shared storage
// counts inodes, and a further name takes half the calls of a file.
type empties struct {
	mu sync.Mutex
	// first is the path of a finished empty file, by executable bit; "" = none
	// that takes links.
	first [2]string
}

func executable(exec bool) int {
	if exec {
		return 1
	}
	return 0
}

// empty places an empty file: as another name of one that is there already, or,
// where there is none or that has all the names it takes, as a new one.
func (w *writer) empty(i int) error {
	op := &w.plan.Ops[i]
	which := executable(op.Exec)
	w.empties.mu.Lock()
	first := w.empties.first[which]
	if first == "" {
		// The others wait: else each worker would make one.
		defer w.empties.mu.Unlock()
		if err := w.pooled(i); err != nil {
			return err
		}
		w.empties.first[which] = op.Path
		return nil
	}
	w.empties.mu.Unlock()
	err := unix.Linkat(w.dirfd(), first, w.dirfd(), op.Path, 0)
	if err == nil {
		w.made[i] = made{content: content{SHA256: op.SHA256}, pooled: true, method: cache.Hardlink}
		return nil
	}
	if errors.Is(err, unix.EMLINK) {
		w.empties.mu.Lock()
		if w.empties.first[which] == first {
			w.empties.first[which] = ""
		}
		w.empties.mu.Unlock()
		return w.empty(i) // a new one, or with somebody else's
	}
	// Whatever is against a link, making the file tells better what is wrong.
	return w.pooled(i)
}

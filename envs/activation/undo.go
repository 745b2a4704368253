package activation

import (
	"crypto/sha256"
	"errors"
	"strings"
)

// ErrUndo is the class of errors about a recorded undo that cannot be read.
var ErrUndo = errors.New("the record of how to undo the active environment cannot be used")

const (
	undoVersion = "1."
	// maxUndo bounds the encoded and the decoded record, in bytes.
	maxUndo = 96 << 10
	// maxOld bounds one remembered value: what is larger is not worth carrying
	// in every process of a job.
	maxOld = 4 << 10
	// hashLen bytes tell a value from another; nothing rests on more.
	hashLen = 6
)

// undoDict primes the compressor with the names that every record holds. It
// belongs to undoVersion: changing it needs a new one.
const undoDict = "PYTHONNOUSERSITE PIXI_ENVIRONMENT_PLATFORMS PIXI_ENVIRONMENT_NAME PIXI_PROJECT_VERSION PIXI_PROJECT_MANIFEST " +
	"PIXI_PROJECT_NAME PIXI_PROJECT_ROOT PIXI_IN_SHELL PIXI_PROMPT CONDA_DEFAULT_ENV LD_LIBRARY_PATH CONDA_SHLVL CONDA_PREFIX PATH /opt/hpcenv/e/"

// entry says how to take one change back.
type entry struct {
	Name string
	// Kind: 's' set, 'u' unset, 'p' prepend, 'a' append.
	Kind byte
	// Hash of the value set: only a value that is still ours is taken back.
	Hash [hashLen]byte
	// Old is what was there before; nil = the variable was not set. For
	// prepend and append only an old value that was set but empty is kept.
	Old *string
	// Value is the elements put before or after, and Sep their separator.
	Value, Sep string
}

// record is the content of HPCENV_UNDO: the common layer and the platform's.
type record struct {
	Common, Platform []entry
}

func valueHash(v string) (h [hashLen]byte) {
	sum := sha256.Sum256([]byte(v))
	copy(h[:], sum[:])
	return h
}

// applyRecorded applies a patch to e and returns how to undo it, in the order
// of the patch.
func applyRecorded(e *environ, p Patch) ([]entry, error) {
	var out []entry
	for _, op := range p.Ops {
		old, had := e.get(op.Name)
		if err := e.apply(op); err != nil {
			return nil, err
		}
		now, has := e.get(op.Name)
		if had == has && old == now {
			continue
		}
		en := entry{Name: op.Name}
		if had && len(old) <= maxOld {
			en.Old = &old
		}
		switch op.Kind {
		case OpSet:
			en.Kind, en.Hash = 's', valueHash(now)
		case OpUnset:
			en.Kind = 'u'
		case OpPrepend, OpAppend:
			en.Kind, en.Value, en.Sep = op.Kind[0], op.Value, sepOf(op)
			if old != "" {
				en.Old = nil
			}
		}
		out = append(out, en)
	}
	return out, nil
}

// undoEntries takes changes back, the last first. What is no longer as we left
// it is somebody else's by now and stays.
func undoEntries(e *environ, entries []entry) {
	for i := len(entries) - 1; i >= 0; i-- {
		en := entries[i]
		cur, has := e.get(en.Name)
		switch en.Kind {
		case 's':
			if has && valueHash(cur) == en.Hash {
				restore(e, en)
			}
		case 'u':
			if !has && en.Old != nil {
				restore(e, en)
			}
		case 'p', 'a':
			if !has {
				continue
			}
			rest, left := removeElements(cur, en.Sep, en.Value, en.Kind == 'a')
			if left {
				e.set(en.Name, rest)
			} else {
				restore(e, en)
			}
		}
	}
}

func restore(e *environ, en entry) {
	if en.Old != nil {
		e.set(en.Name, *en.Old)
	} else {
		e.unset(en.Name)
	}
}

// removeElements takes the elements of val out of the list cur: as one run
// where it is still whole (the first one, or the last), else one by one. left
// is false if nothing of the list remains.
func removeElements(cur, sep, val string, last bool) (rest string, left bool) {
	list, gone := strings.Split(cur, sep), strings.Split(val, sep)
	found := -1
	for i := 0; i+len(gone) <= len(list); i++ {
		if equalStrings(list[i:i+len(gone)], gone) {
			found = i
			if !last {
				break
			}
		}
	}
	if found >= 0 {
		list = append(list[:found:found], list[found+len(gone):]...)
		return strings.Join(list, sep), len(list) > 0
	}
	for _, g := range gone {
		for i, l := range list {
			if l == g {
				list = append(list[:i:i], list[i+1:]...)
				break
			}
		}
	}
	return strings.Join(list, sep), len(list) > 0
}

func equalStrings(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

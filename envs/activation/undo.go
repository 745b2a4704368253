package activation

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
)

// undoDict primes the compressor with what every record holds. It belongs to
// undoVersion: changing it needs a new one.
const undoDict = `","k":"s","h":""},{"n":"PYTHONNOUSERSITE{"n":"PIXI_ENVIRONMENT_PLATFORMS{"n":"PIXI_ENVIRONMENT_NAME` +
	`{"n":"PIXI_PROJECT_VERSION{"n":"PIXI_PROJECT_MANIFEST{"n":"PIXI_PROJECT_NAME{"n":"PIXI_PROJECT_ROOT{"n":"PIXI_IN_SHELL` +
	`{"n":"PIXI_PROMPT{"n":"CONDA_DEFAULT_ENV{"n":"CONDA_SHLVL{"n":"CONDA_PREFIX{"n":"LD_LIBRARY_PATH{"c":[{"n":"PATH","k":"p","v":"/opt/hpcenv/e/`

// entry says how to take one change back.
type entry struct {
	Name string `json:"n"`
	// Kind: "s" set, "u" unset, "p" prepend, "a" append.
	Kind string `json:"k"`
	// Hash of the value set: only a value that is still ours is taken back.
	Hash string `json:"h,omitempty"`
	// Old is what was there before; nil = the variable was not set. For
	// prepend and append only an old value that was set but empty is kept.
	Old *string `json:"o,omitempty"`
	// Value is the elements put before or after.
	Value string `json:"v,omitempty"`
	// Sep of the list; "" = ":".
	Sep string `json:"t,omitempty"`
}

// record is the content of HPCENV_UNDO: the common layer and the platform's.
type record struct {
	Common   []entry `json:"c,omitempty"`
	Platform []entry `json:"p,omitempty"`
}

func valueHash(v string) string {
	sum := sha256.Sum256([]byte(v))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
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
			en.Kind, en.Hash = "s", valueHash(now)
		case OpUnset:
			en.Kind = "u"
		case OpPrepend, OpAppend:
			en.Kind, en.Value = op.Kind[:1], op.Value
			if sep := sepOf(op); sep != ":" {
				en.Sep = sep
			}
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
		case "s":
			if has && valueHash(cur) == en.Hash {
				restore(e, en)
			}
		case "u":
			if !has && en.Old != nil {
				restore(e, en)
			}
		case "p", "a":
			if !has {
				continue
			}
			sep := en.Sep
			if sep == "" {
				sep = ":"
			}
			rest, left := removeElements(cur, sep, en.Value, en.Kind == "a")
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

func encodeUndo(r record) (string, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("recording the undo: %w", err)
	}
	var buf bytes.Buffer
	w, err := flate.NewWriterDict(&buf, flate.BestCompression, []byte(undoDict))
	if err != nil {
		return "", fmt.Errorf("recording the undo: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return "", fmt.Errorf("recording the undo: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("recording the undo: %w", err)
	}
	out := undoVersion + base64.RawURLEncoding.EncodeToString(buf.Bytes())
	if len(out) > maxUndo || len(data) > maxUndo {
		return "", fmt.Errorf("recording the undo: %d bytes, more than the %d that an environment can carry; the environment's scripts change too many or too large variables", len(data), maxUndo)
	}
	return out, nil
}

func decodeUndo(s string) (record, error) {
	body, ok := strings.CutPrefix(s, undoVersion)
	if !ok {
		return record{}, fmt.Errorf("%w: %s is of another version of hpcenv", ErrUndo, UndoName)
	}
	if len(s) > maxUndo {
		return record{}, fmt.Errorf("%w: %s is too long", ErrUndo, UndoName)
	}
	packed, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return record{}, fmt.Errorf("%w: %s: %w", ErrUndo, UndoName, err)
	}
	zr := flate.NewReaderDict(bytes.NewReader(packed), []byte(undoDict))
	data, err := io.ReadAll(io.LimitReader(zr, maxUndo+1))
	if err != nil {
		return record{}, fmt.Errorf("%w: %s: %w", ErrUndo, UndoName, err)
	}
	if len(data) > maxUndo {
		return record{}, fmt.Errorf("%w: %s is too long", ErrUndo, UndoName)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("%w: %s: %w", ErrUndo, UndoName, err)
	}
	for _, layer := range [][]entry{r.Common, r.Platform} {
		for _, en := range layer {
			if en.Name == "" || strings.ContainsAny(en.Name, "=\x00") || strings.ContainsRune(en.Value, 0) ||
				(en.Old != nil && strings.ContainsRune(*en.Old, 0)) {
				return record{}, fmt.Errorf("%w: %s holds what no environment can", ErrUndo, UndoName)
			}
		}
	}
	return r, nil
}

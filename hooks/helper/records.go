package helper

import (
	"bufio"
	"io"
	"strings"

	"github.com/hpcenv/hpcenv/envs/activation"
)

// records writes the helper's results: NUL-terminated KEY=VALUE records. NUL
// cannot occur in an environment, so nothing needs quoting.
type records struct{ w *bufio.Writer }

func newRecords(w io.Writer) *records { return &records{bufio.NewWriter(w)} }

func (r *records) put(key, value string) {
	r.w.WriteString(key)
	r.w.WriteByte('=')
	r.w.WriteString(value)
	r.w.WriteByte(0)
}

// patch writes final values. Only set and unset reach the shim; a value with a
// NUL cannot be one.
func (r *records) patch(p activation.Patch) {
	for _, op := range p.Ops {
		if strings.ContainsRune(op.Name, 0) || strings.ContainsRune(op.Value, 0) {
			continue
		}
		switch op.Kind {
		case "set":
			r.put("set", op.Name+"="+op.Value)
		case "unset":
			r.put("unset", op.Name)
		}
	}
}

// flush reports the first error of all writes.
func (r *records) flush() error { return r.w.Flush() }

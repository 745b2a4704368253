package standalone

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hpcenv/hpcenv/internal/standalonetest"
)

// FuzzEdits: whatever a text is, its edits are in order and in it, and without them
// nothing changes.
func FuzzEdits(f *testing.F) {
	f.Add([]byte(standalonetest.Sysconfigdata))
	f.Add([]byte("build_time_vars = {'AR': '', \"CC\": 'clang' \"  /install\"}"))
	f.Add([]byte("build_time_vars = {'A\\'': '\\"))
	f.Add([]byte("a=/install\r\nb=/install\n=/install"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, of := range []func([]byte) ([]Edit, error){sysconfigEdits, pkgconfigEdits} {
			edits, err := of(data)
			if err != nil {
				if !errors.Is(err, errForm) {
					t.Fatal(err)
				}
				continue
			}
			var out bytes.Buffer
			if err := Apply(&out, bytes.NewReader(data), sortEdits(edits), "/p"); err != nil {
				t.Fatalf("%q: %v: %v", data, edits, err)
			}
			for i := range edits {
				e := &edits[i]
				was := data[e.At : e.At+e.Len]
				e.Text, e.Prefix = string(was), false
			}
			out.Reset()
			if err := Apply(&out, bytes.NewReader(data), edits, "/p"); err != nil || !bytes.Equal(out.Bytes(), data) {
				t.Fatalf("%q became %q: %v", data, out.Bytes(), err)
			}
		}
	})
}

// FuzzELF: no header makes it read what is not there.
func FuzzELF(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01"))
	f.Fuzz(func(t *testing.T, head []byte) { fromELF(head) })
}

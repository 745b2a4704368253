package elf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"debug/elf"

	"github.com/google/go-cmp/cmp"

	hpcelf "github.com/hpcenv/hpcenv/envs/elf"
)

// FuzzRead: whatever the bytes, reading ends, in bounded memory, with facts that
// survive being kept, or with a reason of the two classes.
func FuzzRead(f *testing.F) {
	s := full()
	f.Add(s.Make())
	s.Class, s.Big, s.Machine, s.NoHeaders = 32, true, elf.EM_PPC, true
	f.Add(s.Make())
	s.SOName = "lib\xff.so"
	f.Add(s.Make())
	fat := spec{Sections: map[string][]byte{".nv_fatbin": container(code{2, 90}, code{1, 90})}}
	f.Add(fat.Make())
	f.Add((spec{Kind: elf.ET_EXEC, Static: true}).Make())
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &counting{b: b}
		facts, err := hpcelf.Read(c, int64(len(b)))
		if err != nil {
			if !errors.Is(err, hpcelf.ErrBroken) && !errors.Is(err, hpcelf.ErrNotELF) {
				t.Fatalf("of neither class: %v", err)
			}
			return
		}
		if machine, class, big, err := hpcelf.Identity(bytes.NewReader(b), int64(len(b))); err != nil || machine != facts.Machine || class != facts.Class || big != facts.BigEndian {
			t.Fatalf("Identity says %s %d %v, %v of %+v", machine, class, big, err, facts)
		}
		kept, err := json.Marshal(facts)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(kept, []byte(`\ufffd`)) {
			return // names that are no UTF-8; such facts are not kept
		}
		var back hpcelf.Facts
		if err := json.Unmarshal(kept, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil || !bytes.Equal(kept, again) {
			t.Fatal(cmp.Diff(string(kept), string(again)), err)
		}
	})
}

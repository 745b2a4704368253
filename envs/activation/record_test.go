package activation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A job may meet an hpcenv that is newer than the one that activated: what
// undoVersion stands for, its dictionary included, never changes.
func TestUndoFormIsFrozen(t *testing.T) {
	const written = "1.YipgYAEJC6MKV-gnZeYxWhUz8KI4JLttU_F_E8ZSRhZ3fz9Xpvz_gAAAAP__"
	old := "o\xff"
	want := record{
		Common:   []entry{{Name: "PATH", Kind: 'p', Value: "/opt/hpcenv/e/x/bin", Sep: ":"}, {Name: "PIXI_IN_SHELL", Kind: 's', Hash: valueHash("1")}},
		Platform: []entry{{Name: "GONE", Kind: 'u', Old: &old}},
	}
	got, err := decodeUndo(written)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	again, err := encodeUndo(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = decodeUndo(again); err != nil || !cmp.Equal(want, got) {
		t.Errorf("written and read back: %+v, %v", got, err)
	}
}

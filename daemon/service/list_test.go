package service

import (
	"testing"

	"github.com/hpcenv/hpcenv/envs/materialize"
)

// An environment with a Python and no byte-code says so; one without Python has
// nothing to say.
func TestByteCodeOfAnEnvironment(t *testing.T) {
	python := []materialize.MetaPackage{{Name: "python-dateutil"}, {Name: "python"}}
	counted := &materialize.ByteCode{Files: 3}
	for _, c := range []struct {
		name    string
		meta    materialize.Meta
		none    bool
		files   int
		skipped bool
	}{
		{"counted", materialize.Meta{Packages: python, ByteCode: counted}, false, 3, false},
		{"made without", materialize.Meta{Packages: python}, false, 0, true},
		{"no python", materialize.Meta{Packages: python[:1]}, true, 0, false},
	} {
		got := byteCode(&c.meta)
		if got == nil || c.none {
			if got != nil || !c.none {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		if got.Files != c.files || (got.Skipped != "") != c.skipped {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

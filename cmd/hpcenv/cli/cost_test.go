package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
)

func TestCostText(t *testing.T) {
	for _, c := range []struct {
		cost api.Cost
		want string
	}{
		{api.Cost{Method: "hardlink", Hardlinks: 6117, Copies: 1, Written: 229, Inodes: 1230, Bytes: 3619128},
			"hardlink: 6,117 hard links, 1 copy, 229 written; 1,230 inodes, 3.6 MB"},
		{api.Cost{Method: "copy", Copies: 2, Inodes: 1, Siblings: 1}, "copy: 2 copies; 1 inode, 0 B (1 of them since files of the pool had all the links that an inode takes)"},
	} {
		if got := costText(&c.cost); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestByteCodeText(t *testing.T) {
	for _, c := range []struct {
		code api.ByteCode
		want string
	}{
		{api.ByteCode{Files: 2244, Patched: 22, Processes: 2}, "2,244 files (2,222 compiled, 22 with the prefix in them); 2 compilers started"},
		{api.ByteCode{Files: 5, Kept: 1, Headed: 1, Patched: 1}, "5 files (2 compiled, 1 with the prefix in it, 1 as shipped, 1 shipped with another header); no compiler was started: the store had all"},
		{api.ByteCode{Files: 1, Failed: 2, Processes: 1}, "1 file (1 compiled); 2 sources without; 1 compiler started"},
		{api.ByteCode{Skipped: "no sandbox"}, "none: no sandbox"},
	} {
		if got := byteCodeText(&c.code); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestInspectShowsByteCode(t *testing.T) {
	d := &api.EnvironmentDetail{ID: "0123", Platforms: []api.PlatformDetail{
		{Environment: api.Environment{Platform: "linux-64", Packages: 1, Files: 1}, ByteCode: &api.ByteCode{Files: 1, Processes: 1}},
		{Environment: api.Environment{Platform: "linux-aarch64", Packages: 2}},
	}}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		a := &app{stdout: &out}
		show := func() error { return a.inspectText(d, false) }
		want := []string{"\nbyte-code    1 file (1 compiled); 1 compiler started\n", "\ncontent      1 package, 1 file, 0 B\n"}
		if asJSON {
			show = func() error { return a.printJSON(d) }
			want = []string{"\"byte_code\": {\n        \"files\": 1,\n        \"processes\": 1\n      }"}
		}
		if err := show(); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if strings.Count(out.String(), w) != 1 {
				t.Errorf("%q is not there once in:\n%s", w, out.String())
			}
		}
	}
}

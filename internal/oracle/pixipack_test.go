//go:build oracle

package oracle

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hpcenv/hpcenv/envs/bundle"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// TestPixiPack: pixi-unpack makes of a bundle what it makes of pixi-pack's own pack
// of the same lock, and that pack is read with the lock's packages. pixi-pack comes
// from no package registry, so nothing installs it: it is used where PATH has it.
func TestPixiPack(t *testing.T) {
	for _, program := range []string{"pixi-pack", "pixi-unpack"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("PEER ABSENT: %v; built with `cargo build` in its repository and put into PATH it is compared with", err)
		}
	}
	for n := range len(themes) {
		set := Generate(n)
		t.Run(set.Name, func(t *testing.T) { checkPixiPack(t, solvableLock(t, set)) })
	}
}

func checkPixiPack(t *testing.T, lock []byte) {
	dir := t.TempDir()
	run := func(program string, args ...string) error {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "RAYON_NUM_THREADS=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
		}
		return err
	}
	_, ours := writeBundle(t, lock)
	err := errors.Join(os.WriteFile(filepath.Join(dir, "pixi.lock"), lock, 0o644), os.WriteFile(filepath.Join(dir, "pixi.toml"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "ours.tar"), ours, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if err := run("pixi-pack", "--platform", Subdir, "--output-file", "theirs.tar", "."); err != nil {
		t.Fatal(err)
	}
	sides := map[string]*Side{}
	for _, pack := range []string{"theirs", "ours"} {
		err := run("pixi-unpack", "--output-directory", "out", pack+".tar") // at one path: it is written into files
		if err != nil && pack == "theirs" {
			t.Skipf("it does not unpack its own pack: %v", err) // a file and a directory at odds
		}
		if err != nil {
			t.Fatal(err)
		}
		side, err := ReadSide(filepath.Join(dir, "out", "env"))
		if err == nil {
			err = os.RemoveAll(filepath.Join(dir, "out"))
		}
		if err != nil {
			t.Fatal(err)
		}
		// Where archives were, and in which order it installed, differs each time.
		side.Records = nil
		for p := range side.Tree {
			if strings.HasPrefix(p, "__clobbers__") {
				delete(side.Tree, p)
			}
		}
		sides[pack] = side
	}
	if len(sides["ours"].Tree) < 5 {
		t.Errorf("only %d paths were unpacked", len(sides["ours"].Tree))
	}
	for _, d := range Compare(sides["theirs"], sides["ours"]) {
		t.Error(d)
	}
	pack, err := bundle.Open(filepath.Join(dir, "theirs.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer pack.Close() // only read
	if !pack.Derived || pack.PackVersion == "" {
		t.Errorf("derived %v, made by %q", pack.Derived, pack.PackVersion)
	}
	if d := cmp.Diff(lockedPackages(t, lock), lockedPackages(t, pack.Project.Lock), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("the derived lock has other packages (- lock, + pack):\n%s", d)
	}
}

// lockedPackages of a lock, by file, without where they lie.
func lockedPackages(t *testing.T, lock []byte) map[string]lockfile.CondaPackage {
	t.Helper()
	parsed, err := lockfile.Parse(lock)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]lockfile.CondaPackage{}
	for _, p := range parsed.Environments[0].Platforms[0].Conda {
		c := *p
		c.Location, c.URL, c.Line, c.Channel, c.Local = "", "", 0, "", false
		out[c.FileName] = c
	}
	return out
}

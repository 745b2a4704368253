//go:build oracle

package oracle

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// TestLocks: every field of every entry of every lock of the shared data is what
// rattler reads, per environment and platform; and a lock that rattler wrote from
// what it read says the same as the lock that it read.
func TestLocks(t *testing.T) {
	root := filepath.Join(testdata.Shared(t), "data", "locks")
	base := t.TempDir()
	d := NewDriver(interpreter(t), base)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("the driver ended badly: %v", err)
		}
	})
	ledger := &Ledger{Allowed: AllowedLocks, Refusals: LockRefusals}
	locks, packages, refused := 0, 0, 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "uv.lock" || !strings.HasSuffix(path, ".lock") && !strings.HasSuffix(path, ".yml") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		ours, oerr := lockfile.Parse(data)
		out, rewritten := filepath.Join(base, "dump.json"), filepath.Join(base, "rewritten.lock")
		rerr := d.ReadLock(t.Context(), path, out, rewritten)
		switch {
		case oerr != nil && rerr != nil:
			refused++
			return nil
		case oerr != nil:
			if !ledger.Refused(rel, "hpcenv", oerr) {
				t.Errorf("%s: only hpcenv refuses it: %v", rel, oerr)
			}
			return nil
		case rerr != nil:
			if !ledger.Refused(rel, "rattler", rerr) {
				t.Errorf("%s: only rattler refuses it: %v", rel, rerr)
			}
			return nil
		}
		locks++
		theirDump := new(LockDump)
		if data, err = os.ReadFile(out); err == nil {
			err = json.Unmarshal(data, theirDump)
		}
		if err != nil {
			return err
		}
		ourDump, err := DumpLock(ours)
		if err != nil {
			return err
		}
		for _, env := range ourDump.Environments {
			for _, p := range env.Platforms {
				packages += len(p.Packages)
			}
		}
		report(t, rel, ledger.Explain(rel, CompareLocks(theirDump, ourDump)))
		if ours.Version < lockfile.MinVersion {
			return nil // rattler writes one entry for an archive, whatever platforms say of it
		}
		if data, err = os.ReadFile(rewritten); err != nil {
			return err
		}
		again, err := lockfile.Parse(data)
		if err != nil {
			t.Errorf("%s: what rattler makes of it is refused: %v", rel, err)
			return nil
		}
		differences := CompareRewritten(again, ours)
		if ourDump, err = DumpLock(again); err != nil {
			return err
		}
		differences = append(differences, CompareLocks(theirDump, ourDump)...)
		report(t, rel+" rewritten", ledger.Explain("rewritten/"+rel, differences))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table, unused := ledger.Table(true)
	t.Logf("%d locks compared (%d packages), %d refused by both\n%s", locks, packages, refused, table)
	for _, u := range unused {
		t.Errorf("nothing needs the allowed difference %q", u)
	}
	if locks < 150 {
		t.Errorf("only %d locks compared", locks)
	}
}

// report shows some of the differences that nothing allows.
func report(t *testing.T, name string, all []Difference) {
	t.Helper()
	for i, d := range all {
		if i == 4 {
			t.Errorf("%s: and %d more", name, len(all)-i)
			return
		}
		t.Errorf("%s: %s", name, d)
	}
}

// TestBadLocks: with the bad locks of envs/lockfile, rattler does what the list
// of verdicts says.
func TestBadLocks(t *testing.T) {
	dir := filepath.Join("..", "..", "envs", "lockfile", "testdata", "bad")
	verdicts, err := os.ReadFile(filepath.Join(dir, "verdicts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	d := NewDriver(interpreter(t), base)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("the driver ended badly: %v", err)
		}
	})
	both, onlyOurs, onlyTheirs := 0, 0, 0
	for line := range strings.Lines(string(verdicts)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(fields) != 3 {
			continue
		}
		verdict := "reads"
		if err := d.ReadLock(t.Context(), filepath.Join(dir, fields[0]+".lock"), filepath.Join(base, "out"), filepath.Join(base, "rewritten")); err != nil {
			verdict = "refuses"
		}
		if verdict != fields[1] {
			t.Errorf("%s: rattler %s it, the list says that it %s it", fields[0], verdict, fields[1])
		}
		switch ours := fields[2] == "ok"; {
		case ours == (verdict == "reads"):
			both++
		case ours:
			onlyOurs++
		default:
			onlyTheirs++
		}
	}
	t.Logf("%d locks: both do the same, %d only hpcenv reads, %d only rattler", both, onlyOurs, onlyTheirs)
}

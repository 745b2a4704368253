package helper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

const (
	testLock = "abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcd"
	testID   = "0123456789abcdef0123456789abcdef"
)

func testPin(edit ...func(*pin.Pin)) *pin.Pin {
	p := &pin.Pin{Lock: testLock, LockPath: "/p/pixi.lock", Choice: pin.Choice{Environment: "default", ID: testID,
		Platforms: []string{"linux-64", "linux-aarch64"}}}
	for _, f := range edit {
		f(p)
	}
	return p
}

func wire(t *testing.T, p *pin.Pin) string {
	t.Helper()
	w, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestParseWait(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"": defaultWait, "0": 0, "10": 10 * time.Minute, "90s": 90 * time.Second, "2h": 2 * time.Hour, "1.5": 90 * time.Second,
	} {
		if got, err := parseWait(in); err != nil || got != want {
			t.Errorf("parseWait(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"soon", "-1", "-5m", "1 h"} {
		if _, err := parseWait(in); exitCode(err) != api.ExitUsage {
			t.Errorf("parseWait(%q): %v, want wrong usage", in, err)
		}
	}
}

func TestPrologLeavesAndEpilogTakes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("prolog files are believed only if they are root's: run as root")
	}
	dir := t.TempDir()
	t.Cleanup(func() {
		// The prolog makes a file system for requests.
		if err := unix.Unmount(filepath.Join(dir, "look"), unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	want := testPin()
	t.Setenv("SLURM_JOB_ID", "77")
	t.Setenv(pin.PrologVariable, wire(t, want))
	if code := Main([]string{"slurm-hook", "prolog", "--run-dir=" + dir}, Deps{}); code != 0 {
		t.Fatal("exit code", code)
	}
	got, err := jobPin(dir, "77")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if code := Main([]string{"slurm-hook", "epilog", "--run-dir=" + dir}, Deps{}); code != 0 {
		t.Fatal("exit code", code)
	}
	left, err := os.ReadDir(filepath.Join(dir, "job"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Whatever is wrong, a prolog exits 0: else Slurm drains the node.
func TestPrologNeverFails(t *testing.T) {
	for name, env := range map[string][2]string{
		"no job":   {"", "1:tree:{}"},
		"evil job": {"../../etc/x", "1:tree:{}"},
		"bad pin":  {"5", "1:tree:{}"},
		"no pin":   {"5", ""},
	} {
		dir := t.TempDir()
		t.Setenv("SLURM_JOB_ID", env[0])
		t.Setenv(pin.PrologVariable, env[1])
		if code := Main([]string{"slurm-hook", "prolog", "--run-dir=" + dir}, Deps{}); code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
		if left, err := filepath.Glob(dir + "/job/*"); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}

func TestJobPinBelievesOnlyRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make files of others")
	}
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/job", 0o755); err != nil {
		t.Fatal(err)
	}
	path := dir + "/job/9"
	write := func(mode os.FileMode, uid int) {
		t.Helper()
		if err := os.WriteFile(path, []byte(wire(t, testPin())), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(path, mode), os.Chown(path, uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	write(0o644, 0)
	if p, err := jobPin(dir, "9"); p == nil || err != nil {
		t.Errorf("root's file: %v, %v", p, err)
	}
	write(0o644, 1000)
	if p, err := jobPin(dir, "9"); p != nil || err == nil {
		t.Errorf("a user's file was believed: %v, %v", p, err)
	}
	write(0o666, 0)
	if p, err := jobPin(dir, "9"); p != nil || err == nil {
		t.Errorf("a file that others may write was believed: %v, %v", p, err)
	}
	if err := errors.Join(os.Rename(path, path+"x"), os.Symlink("9x", path)); err != nil {
		t.Fatal(err)
	}
	if p, err := jobPin(dir, "9"); p != nil || err == nil {
		t.Errorf("a link was believed: %v, %v", p, err)
	}
}

func TestStepPinPrecedence(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root for the prolog's file")
	}
	dir := t.TempDir()
	named := func(name string) *pin.Pin { return testPin(func(p *pin.Pin) { p.Environment = name }) }
	if err := leavePin(dir, "3", wire(t, named("of-job"))); err != nil {
		t.Fatal(err)
	}
	step := named("of-step")
	step.Step = true
	for _, c := range []struct {
		title, job, carried, want string
	}{
		{"an inherited pin gives way to the job's own", "3", wire(t, named("inherited")), "of-job"},
		{"a step's own choice does not", "3", wire(t, step), "of-step"},
		{"a step from outside finds the job's", "3", "", "of-job"},
		{"without a prolog the inherited one holds", "4", wire(t, named("inherited")), "inherited"},
	} {
		p, err := stepPin(dir, c.job, c.carried)
		if err != nil || p == nil || p.Environment != c.want {
			t.Errorf("%s: got %v, %v", c.title, p, err)
		}
	}
	if p, err := stepPin(dir, "4", ""); p != nil || err != nil {
		t.Errorf("nothing pinned: got %v, %v", p, err)
	}
}

// published makes a store of the user's own with one environment in it.
func published(t *testing.T) (root, prefix string) {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if _, err := cache.Create(root, cache.Format{Version: cache.FormatVersion, Platforms: []string{"linux-64", "linux-aarch64"}, OwnerUID: os.Getuid()}); err != nil {
		t.Fatal(err)
	}
	prefix = filepath.Join(root, "trees", hostPlatform(), testID)
	put := func(path string, v any) {
		t.Helper()
		b, err := json.Marshal(v)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(prefix, "conda-meta", "history"), "")
	static, err := activation.FromTree(prefix, prefix)
	if err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(root, "meta", testID, hostPlatform()+".json"), &materialize.Meta{ID: testID, Activation: static})
	put(filepath.Join(root, "locks", testLock, "index.json"), &lockfile.Index{Digest: testLock, Linker: materialize.LinkerVersion, Environments: map[string]lockfile.IndexEnvironment{
		"default": {ID: testID, Platforms: []string{"linux-64", "linux-aarch64"}}}})
	return root, prefix
}

func TestActivate(t *testing.T) {
	root, prefix := published(t)
	p := testPin(func(p *pin.Pin) { p.Store = root })
	for _, name := range []string{activation.MarkerName, activation.UndoName, "CONDA_PREFIX"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("PYTHONPATH", "/elsewhere")
	var out, messages bytes.Buffer
	if err := activate(context.Background(), []string{"--pin=" + wire(t, p), "--run-dir=" + t.TempDir(), "--batch=1"}, &out, &messages); err != nil {
		t.Fatal(err)
	}
	records := strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")
	for _, want := range []string{"set=PATH=" + prefix + "/bin:/usr/bin:/bin", "set=CONDA_PREFIX=" + prefix, "unset=PYTHONPATH", "set=HPCENV_DELIVERED=tree"} {
		found := false
		for _, r := range records {
			found = found || r == want
		}
		if !found {
			t.Errorf("no record %q in %q", want, records)
		}
	}
	if !strings.Contains(messages.String(), "PYTHONPATH") {
		t.Errorf("nothing said of PYTHONPATH: %q", messages.String())
	}
}

func TestLocateRefuses(t *testing.T) {
	root, prefix := published(t)
	check := func(title string, code int, text string, p *pin.Pin) {
		t.Helper()
		_, err := locate(p, "", "/opt/hpcenv/e")
		if err == nil || exitCode(err) != code || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "next: ") {
			t.Errorf("%s: got %v (%d), want code %d, %q and a next step", title, err, exitCode(err), code, text)
		}
	}
	own := func(edit ...func(*pin.Pin)) *pin.Pin {
		return testPin(append([]func(*pin.Pin){func(p *pin.Pin) { p.Store = root }}, edit...)...)
	}
	check("platform missing", api.ExitNoFit, "linux-s390x only", own(func(p *pin.Pin) { p.Platforms = []string{"linux-s390x"} }))
	check("not made", api.ExitLate, "not made for", own(func(p *pin.Pin) { p.ID = strings.Repeat("f", 32) }))
	check("no store", api.ExitUnreachable, "/nowhere", own(func(p *pin.Pin) { p.Store = "/nowhere" }))
	check("activation lost", api.ExitUnreachable, "pinned activation", own(func(p *pin.Pin) { p.Activation = testLock }))
	check("activation altered", api.ExitFailed, "pinned activation", own(func(p *pin.Pin) { p.Activation, p.Inline = testLock, []byte(`{}`) }))
	if err := os.RemoveAll(prefix); err != nil {
		t.Fatal(err)
	}
	check("tree lost", api.ExitUnreachable, prefix, own())
}

func TestRecordsDropWhatNoEnvironmentHolds(t *testing.T) {
	var b bytes.Buffer
	r := newRecords(&b)
	r.patch(activation.Patch{Ops: []activation.Op{{Kind: "set", Name: "A", Value: "x\x00y"}, {Kind: "set", Name: "B", Value: "1\n2"}, {Kind: "unset", Name: "C"}}})
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	if want := "set=B=1\n2\x00unset=C\x00"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// An answer cut off must not pass for a whole one.
func TestRecordsReportWriteErrors(t *testing.T) {
	r := newRecords(failing{})
	r.put("pin", "x")
	if err := r.flush(); err == nil {
		t.Error("a failed write went unnoticed")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

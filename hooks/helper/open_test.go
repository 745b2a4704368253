package helper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/internal/ownmounts"
)

// TestMain lets this program be the opening child, as the helper's own does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "spank" {
		os.Exit(Main(os.Args[1:], Deps{}))
	}
	if len(os.Args) > 1 && os.Args[1] == "become" {
		if err := becomeUser(12345, 12346, "12347,12348"); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		status, err := os.ReadFile("/proc/thread-self/status")
		dumpable, perr := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		fmt.Printf("%s\ndumpable %d\n%v %v\n", status, dumpable, err, perr)
		os.Exit(0)
	}
	os.Exit(ownmounts.Run(m.Run))
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: a child cannot become another user")
	}
}

// The user must not be able to trace the child that hands a descriptor to root.
func TestOpeningChildCannotBeTraced(t *testing.T) {
	needRoot(t)
	out, err := exec.Command("/proc/self/exe", "become").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"Uid:\t12345\t12345\t12345\t12345\n", "Gid:\t12346\t12346\t12346\t12346\n", "Groups:\t12347 12348 \n",
		"CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n", "dumpable 0\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the child lacks %q:\n%s", want, out)
		}
	}
}

// openOnce has the child open the directory of a store's trees.
func openOnce(store string, f attachFlags) error {
	c, err := startOpener(store, nil, false, &f)
	if err != nil {
		return err
	}
	one, file, err := c.next()
	if err != nil {
		return errors.Join(err, c.close())
	}
	if one.Name != filepath.Join(store, "trees", hostPlatform()) || one.Image != nil {
		err = fmt.Errorf("it offers %+v", one)
	}
	return errors.Join(err, file.Close(), c.close())
}

// What the user cannot reach, root does not get through the child; what it can
// reach must be the owner's.
func TestOpenAsUser(t *testing.T) {
	needRoot(t)
	base, err := os.MkdirTemp("/tmp", "hpcenv-open-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	open, shut := filepath.Join(base, "open"), filepath.Join(base, "shut")
	trees := filepath.Join("trees", hostPlatform())
	for dir, mode := range map[string]os.FileMode{base: 0o755, filepath.Join(open, trees): 0o755, shut: 0o700, filepath.Join(shut, trees): 0o755} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	f := attachFlags{owner: 0, uid: 12345, gid: 12346, groups: "12347"}
	if err := openOnce(open, f); err != nil {
		t.Fatal(err)
	}
	if err := openOnce(shut, f); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a directory that the user cannot reach: %v", err)
	}
	f.owner = 77
	if err := openOnce(open, f); err == nil || !strings.Contains(err.Error(), "belongs to uid 0") {
		t.Errorf("a directory of another owner: %v", err)
	}
}

// A job on a user's own store has nothing for root to attach, also where the
// prolog left its pin and no cluster store is configured.
func TestAttachOfAnOwnStore(t *testing.T) {
	needRoot(t)
	run := t.TempDir()
	if err := leavePin(run, "7", ownPin()); err != nil {
		t.Fatal(err)
	}
	args := []string{"--store=", "--prefix-root=/nonexistent/e", "--uid=12345", "--gid=12346", "--groups=", "--run-dir=" + run, "--job=7"}
	if err := attach(append(args, "--pin=")); err != nil {
		t.Errorf("an own store: %v", err)
	}
	if err := attach(append(args, "--job=8", "--pin="+wire(t, testPin()))); err == nil || !strings.Contains(err.Error(), "no store is configured") {
		t.Errorf("a pin of the cluster's store: %v", err)
	}
}

// What a group's part of the store has is for the group's members, whatever a pin
// says: it is opened as the user.
func TestAttachOfAGroup(t *testing.T) {
	needRoot(t)
	base, err := os.MkdirTemp("/tmp", "hpcenv-group-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	part := filepath.Join(base, "private", "12347")
	trees := filepath.Join(part, "trees", hostPlatform())
	if err := errors.Join(os.MkdirAll(trees, 0o755), os.Chmod(base, 0o755), os.Chown(part, 0, 12347), os.Chmod(part, 0o750)); err != nil {
		t.Fatal(err)
	}
	f := attachFlags{owner: 0, uid: 12345, gid: 12346, groups: "12347", group: "12347"}
	if err := openOnce(part, f); err != nil {
		t.Fatal(err)
	}
	group := func(name string) string { return wire(t, testPin(func(p *pin.Pin) { p.Group = name })) }
	args := []string{"--store=" + base, "--owner=0", "--prefix-root=" + base + "/e", "--uid=12345", "--gid=12346", "--groups=12348"}
	for wire, want := range map[string]string{
		group("12347"): "for the members of group 12347 only",
		group("12349"): "the store has nothing for group 12349 here",
		"1:private:{}": "pin cannot be used",
	} {
		if err := attach(append(args, "--pin="+wire)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; next: ") {
			t.Errorf("%s: got %v, want %q", wire, err, want)
		}
	}
	if _, err := os.Stat(base + "/e"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was attached: %v", err)
	}
	if err := os.WriteFile(filepath.Join(part, "FORMAT"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := testPin(func(p *pin.Pin) { p.Group = "12347" })
	if _, err := locate(p, base, base+"/e"); exitCode(err) != api.ExitLate {
		t.Errorf("what is not made there: %v", err)
	}
}

package look

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// prepared is a run directory with a place for requests.
func prepared(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: WHAT USERS MAY LEAVE FOR ROOT IS NOT TESTED")
	}
	dir, err := os.MkdirTemp("", "look") // the test's own directories are closed to others
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(unix.Unmount(filepath.Join(dir, dirName), unix.MNT_DETACH), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // the second finds it
		if err := Prepare(dir); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// asUser runs a shell script as another account.
func asUser(t *testing.T, script string, args ...string) error {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	return err
}

func TestRequests(t *testing.T) {
	dir := prepared(t)
	look := filepath.Join(dir, dirName)
	if asked, err := Take(dir); asked || err != nil {
		t.Fatalf("nobody has asked: %v %v", asked, err)
	}
	for range 2 { // twice is once
		if err := Leave(dir, "4711"); err != nil {
			t.Fatal(err)
		}
	}
	if err := asUser(t, "umask 077; : >$1/4712", look); err != nil {
		t.Fatal(err)
	}
	if asked, err := Take(dir); !asked || err != nil {
		t.Errorf("%v %v", asked, err)
	}
	if asked, err := Take(dir); asked || err != nil {
		t.Errorf("a request counts once: %v %v", asked, err)
	}
}

// Users who mean harm: links out of the directory, trees, large files, many files, and
// others' requests.
func TestHostileUsers(t *testing.T) {
	dir := prepared(t)
	look := filepath.Join(dir, dirName)
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("kept\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Leave(dir, "1"); err != nil {
		t.Fatal(err)
	}
	err := asUser(t, `cd $1 || exit 1
ln -s $2 2; ln -s / root; mkdir -p a/b/c; chmod 0 a/b; mkfifo pipe
head -c 1000000 /dev/zero >big && exit 2
i=0; while [ $i -lt 2000 ] && true >many$i; do i=$((i+1)); done; [ $i -lt 600 ] || exit 3
rm -f 1 2>/dev/null; ls . 2>/dev/null && exit 4
exit 0`, look, filepath.Dir(precious))
	if err != nil {
		t.Errorf("a user can do more than ask: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(look, "1")); err != nil {
		t.Errorf("others' requests can be taken away: %v", err)
	}
	if err := Leave(dir, "2"); err != nil && !errors.Is(err, ErrNone) {
		t.Errorf("a name that is taken: %v", err)
	}
	if asked, err := Take(dir); !asked || err != nil {
		t.Errorf("%v %v", asked, err)
	}
	if left, err := os.ReadDir(look); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if b, err := os.ReadFile(precious); err != nil || !bytes.Equal(b, []byte("kept\n")) {
		t.Errorf("a link was followed: %v", err)
	}
}

func TestNoPlace(t *testing.T) {
	dir := t.TempDir()
	if err := Leave(dir, "1"); !errors.Is(err, ErrNone) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	// A directory of somebody's is not the one that root made.
	if err := os.Mkdir(filepath.Join(dir, dirName), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Leave(dir, "1"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	if asked, err := Take(dir); asked || err != nil {
		t.Errorf("%v %v", asked, err)
	}
}

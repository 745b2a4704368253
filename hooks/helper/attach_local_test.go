package helper

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
)

const lookLocal = `cat $root/` + testID + `/what; echo; for d in $(grep "$root.*squashfs" /proc/self/mountinfo | grep -o '/dev/loop[0-9]*'); do cat /sys/block/${d#/dev/}/loop/backing_file; done`

// The copy is mounted, not the store's image. Without room the store's is, with a warning;
// a directory that is open to others ends the step where the site refuses.
func TestAttachLocal(t *testing.T) {
	s := newImageStore(t)
	local, args := filepath.Join(s.base, "copies"), s.args
	s.args = append(args, "--local="+local, "--local-memory")
	out, err := s.inNamespace(`attach "$@" || exit; ` + lookLocal)
	if err != nil || !strings.HasPrefix(out, "image\n"+local+"/") {
		t.Fatalf("%v: %s", err, out)
	}
	if n := s.devices(t); n != 0 {
		t.Errorf("%d devices of the store's image", n)
	}
	s.args = append(args, "--local="+local, "--local-memory", "--local-size=1")
	if err := os.RemoveAll(local); err != nil {
		t.Fatal(err)
	}
	out, err = s.inNamespace(lookLocal)
	if err != nil || !strings.Contains(out, "warning: ") || !strings.Contains(out, "no room for a copy") || !strings.Contains(out, "\nimage\n"+s.image+"\n") {
		t.Errorf("no room: %v: %s", err, out)
	}
	s.freed(t)
	if err := os.Chmod(local, 0o777); err != nil {
		t.Fatal(err)
	}
	s.args = append(args, "--local="+local, "--local-memory", "--local-fail=refuse")
	out, err = s.inNamespace("echo attached")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != api.ExitUnreachable || !strings.Contains(out, "0700") || !strings.Contains(out, "; next: ") {
		t.Errorf("foreign: %v: %s", err, out)
	}
}

// An image that is not the published one, deep inside, is not mounted at all.
func TestAttachLocalDamaged(t *testing.T) {
	s := newImageStore(t)
	b, err := os.ReadFile(s.image)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1 // in the padding: nothing else looks there
	if err := os.WriteFile(s.image, b, 0o444); err != nil {
		t.Fatal(err)
	}
	s.args = append(s.args, "--local="+filepath.Join(s.base, "copies"), "--local-memory")
	out, err := s.inNamespace("echo attached")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != api.ExitUnreachable || !strings.Contains(out, "the store's image is damaged") {
		t.Errorf("%v: %s", err, out)
	}
}

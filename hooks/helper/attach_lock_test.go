package helper

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A step whose user has stopped what it waits for keeps nobody else from the same image.
func TestAttachLockedForever(t *testing.T) {
	s := newImageStore(t)
	l, err := os.OpenFile(filepath.Join(s.base, "run/attach.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: lockOf(testID), Len: 1}
	if err := unix.FcntlFlock(l.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		t.Fatal(err)
	}
	out, err := s.inNamespace(`cat $root/` + testID + `/what`)
	if err != nil || out != "image" {
		t.Errorf("%v: %s", err, out)
	}
	s.freed(t)
}

package staging

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// disk mounts a file system that mkfs makes in a file of size bytes below dir, and returns
// where, and the file.
func disk(t *testing.T, dir string, size int64, mkfs ...string) (at, file string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: no file system can be mounted")
	}
	file, at = filepath.Join(dir, "disk"), t.TempDir()
	f, err := os.Create(file)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs[0], append(mkfs[1:], file)...).CombinedOutput(); err != nil {
		t.Skipf("NO %s: %v: %s", mkfs[0], err, out)
	}
	mount(t, at, "-o", "loop", file)
	return at, file
}

// mount mounts something at a directory until the test ends.
func mount(t *testing.T, at string, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", append(args, at)...).CombinedOutput(); err != nil {
		t.Skipf("NO MOUNT %q: %v: %s", args, err, out)
	}
	t.Cleanup(func() {
		var out []byte
		err := errors.New("not tried")
		for end := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			out, err = exec.Command("umount", at).CombinedOutput()
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// fill writes a file of so many bytes.
func fill(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.CopyN(f, zeros{}, size)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// fillUp leaves no room.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.Copy(f, zeros{}); !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func free(t *testing.T, dir string) int64 {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Bavail) * int64(st.Bsize)
}

// What others put on the disk counts: the copy that was used longest ago leaves for it, and
// where that would not do, none.
func TestDiskOfOthers(t *testing.T) {
	at, _ := disk(t, t.TempDir(), 32<<20, "mkfs.ext4", "-q", "-m", "0")
	c, command := &Config{Dir: filepath.Join(at, "copies"), Wait: 20 * time.Second}, self(t, "stage")
	f1, r1 := source(t, 21)
	f2, r2 := source(t, 22)
	f3, r3 := source(t, 23)
	holds(t, c, f1, r1, command...)
	holds(t, c, f2, r2, command...)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(c.Dir, r2.SHA256+recordSuffix), old, old); err != nil {
		t.Fatal(err)
	}
	// Of the disk's 5%, which stay free, and the image's size a MB is lacking.
	fill(t, filepath.Join(at, "others"), free(t, at)-32<<20/20-testSize+1<<20)
	holds(t, c, f3, r3, command...)
	there := func(sha string) bool {
		_, err := os.Lstat(filepath.Join(c.Dir, sha+imageSuffix))
		return err == nil
	}
	if !there(r1.SHA256) || there(r2.SHA256) || !there(r3.SHA256) {
		t.Errorf("there are %v %v %v", there(r1.SHA256), there(r2.SHA256), there(r3.SHA256))
	}
	fill(t, filepath.Join(at, "more"), free(t, at)-1<<20)
	big, rec := source(t, 24)
	rec.Size = 20 << 20
	if _, err := c.Get(big, rec, command...); !errors.Is(err, ErrRoom) || !there(r1.SHA256) || !there(r3.SHA256) {
		t.Errorf("what does not fit: %v, there are %v %v", err, there(r1.SHA256), there(r3.SHA256))
	}
}

// at calls do before the first reading beyond an offset.
type atOffset struct {
	io.ReaderAt
	offset int64
	do     func()
}

func (a *atOffset) ReadAt(p []byte, at int64) (int, error) {
	if at >= a.offset && a.do != nil {
		a.do()
		a.do = nil
	}
	return a.ReaderAt.ReadAt(p, at)
}

// A disk that takes no reservation, and is full in the middle of the copying: nothing of
// it is left.
func TestDiskFillsUp(t *testing.T) {
	at, _ := disk(t, t.TempDir(), 16<<20, "mkfs.ext2", "-q", "-m", "0")
	d, err := openDir(filepath.Join(at, "copies"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, rec := source(t, 31)
	j := &job{d: d, sha: rec.SHA256, size: rec.Size, source: &atOffset{f, 1 << 20, func() { fillUp(t, filepath.Join(at, "others")) }}}
	if err := j.make(); !errors.Is(err, ErrRoom) || !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	if names, err := d.names(); err != nil || len(names) != 1 || names[0] != roomLock {
		t.Errorf("left: %v, %v", names, err)
	}
}

// A disk that reports at the end that it could not write: for want of room behind it, as
// some kernels tell, or as an error of its own.
func TestDiskFails(t *testing.T) {
	small := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: no file system can be mounted")
	}
	mount(t, small, "-t", "tmpfs", "-o", "size=4m", "none")
	at, _ := disk(t, small, 32<<20, "mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal")
	// No more than a MB of what the disk promises is behind it.
	fill(t, filepath.Join(small, "others"), free(t, small)-1<<20)
	d, err := openDir(filepath.Join(at, "copies"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, rec := source(t, 32)
	j := &job{d: d, sha: rec.SHA256, size: rec.Size, source: f}
	if err := j.make(); !errors.Is(err, ErrDisk) && !errors.Is(err, ErrRoom) {
		t.Error(err)
	}
	if names, err := d.names(); err != nil || strings.Contains(strings.Join(names, " "), rec.SHA256) {
		t.Errorf("left: %v, %v", names, err)
	}
	// There is room on it now.
	if err := os.Remove(filepath.Join(small, "others")); err != nil {
		t.Fatal(err)
	}
	if err := j.make(); err != nil {
		t.Error(err)
	}
}

// A disk that gives back another byte than it was given.
func TestDiskDamages(t *testing.T) {
	at, file := disk(t, t.TempDir(), 32<<20, "mkfs.ext4", "-q", "-m", "0")
	d, err := openDir(filepath.Join(at, "copies"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, rec := source(t, 33)
	j := &job{d: d, sha: rec.SHA256, size: rec.Size, source: f}
	part, err := j.reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if err := errors.Join(j.fill(part), j.readBack(part)); err != nil {
		t.Fatal(err)
	}
	mark := make([]byte, 64)
	if _, err := f.ReadAt(mark, 1<<20); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	place := bytes.Index(raw, mark)
	if place < 0 {
		t.Fatal("the copy is not on the disk")
	}
	w, err := os.OpenFile(file, os.O_RDWR, 0)
	if err == nil {
		_, err = w.WriteAt([]byte{mark[0] ^ 1}, int64(place))
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := j.readBack(part); !errors.Is(err, ErrDisk) || !strings.Contains(err.Error(), "read back") {
		t.Error(err)
	}
	// What is not there any more cannot be read, or reads as something else.
	if err := os.Truncate(file, int64(place)); err != nil {
		t.Fatal(err)
	}
	err = j.readBack(part)
	t.Log(err)
	if !errors.Is(err, ErrDisk) {
		t.Error(err)
	}
}

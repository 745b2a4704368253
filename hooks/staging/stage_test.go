package staging

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/hooks/loopdev"
	"github.com/hpcenv/hpcenv/hooks/outside"
)

// slow is a source that hangs after its first bytes.
type slow struct{ io.ReaderAt }

func (s slow) ReadAt(p []byte, at int64) (int, error) {
	if at > 0 {
		time.Sleep(time.Minute)
	}
	return s.ReaderAt.ReadAt(p[:1], at)
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "stage" {
		os.Exit(Copy(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "count" {
		if os.Args[len(os.Args)-1] == outside.Flag { // again the same copying
			os.Exit(Copy(os.Args[3:]))
		}
		// Each copying leaves a byte.
		f, err := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString("x")
		}
		if err = errors.Join(err, f.Close()); err != nil {
			os.Exit(1)
		}
		time.Sleep(50 * time.Millisecond)
		os.Exit(Copy(os.Args[3:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "slow" {
		sha, _ := strings.CutPrefix(os.Args[2], "--sha256=")
		j := &job{d: &dir{os.NewFile(4, "copies")}, source: slow{os.NewFile(3, "source")}, sha: sha, size: testSize}
		if j.make() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const testSize = 3<<20 + 17

// source is a file with random content and what is published of it.
func source(t *testing.T, seed byte) (*os.File, *image.Record) {
	t.Helper()
	b := make([]byte, testSize)
	if _, err := rand.NewChaCha8([32]byte{seed}).Read(b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(path, b, 0o444); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	sum := sha256.Sum256(b)
	return f, &image.Record{Size: testSize, SHA256: hex.EncodeToString(sum[:])}
}

func config(t *testing.T) *Config {
	return &Config{Dir: filepath.Join(t.TempDir(), "copies"), Memory: true, Wait: 20 * time.Second}
}

func self(t *testing.T, args ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{exe}, args...)
}

// holds fails unless the copy is the source's content.
func holds(t *testing.T, c *Config, f *os.File, rec *image.Record, command ...string) os.FileInfo {
	t.Helper()
	got, err := c.Get(f, rec, command...)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	b, err := io.ReadAll(got)
	want, werr := os.ReadFile(f.Name())
	if err = errors.Join(err, werr); err != nil || !bytes.Equal(b, want) {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	st, err := got.Stat()
	if err != nil || st.Mode() != 0o444 {
		t.Fatalf("%v %v", st.Mode(), err)
	}
	return st
}

// Launches that start together: one copying.
func TestOneCopy(t *testing.T) {
	f, rec := source(t, 1)
	c, count := config(t), filepath.Join(t.TempDir(), "count")
	command := self(t, "count", count)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := c.Get(f, rec, command...)
			if err != nil {
				t.Error(err)
				return
			}
			if err := got.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	holds(t, c, f, rec, command...)
	if b, err := os.ReadFile(count); err != nil || len(b) != 1 {
		t.Errorf("%d copyings, %v", len(b), err)
	}
}

// A flipped byte in the source is an error and leaves nothing; one in the copy has it made again.
func TestFlippedByte(t *testing.T) {
	f, rec := source(t, 2)
	c := config(t)
	flip := func(path string) {
		t.Helper()
		w, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		if _, err = w.ReadAt(b, 1<<20); err == nil {
			_, err = w.WriteAt([]byte{b[0] ^ 1}, 1<<20)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	flip(f.Name())
	if _, err := c.Get(f, rec, self(t, "stage")...); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "published with") {
		t.Fatalf("source: %v", err)
	}
	for _, suffix := range []string{imageSuffix, partSuffix, recordSuffix} {
		if _, err := os.Lstat(filepath.Join(c.Dir, rec.SHA256+suffix)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", suffix, err)
		}
	}
	flip(f.Name())
	holds(t, c, f, rec, self(t, "stage")...)
	flip(filepath.Join(c.Dir, rec.SHA256+imageSuffix))
	holds(t, c, f, rec, self(t, "stage")...)
	if err := os.Truncate(filepath.Join(c.Dir, rec.SHA256+recordSuffix), 3); err != nil {
		t.Fatal(err)
	}
	holds(t, c, f, rec, self(t, "stage")...)
}

// Storage that hangs while copying: the launch goes on without; killed, the copier leaves
// a part, which the next removes.
func TestHangsAndKilled(t *testing.T) {
	f, rec := source(t, 3)
	c := config(t)
	c.Wait = 300 * time.Millisecond
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := []string{"/bin/sh", "-c", `echo $$ >"$0"; exec "$@"`, pidFile}
	_, err := c.Get(f, rec, append(script, self(t, "slow")...)...)
	if !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	if _, err := c.Get(f, rec, self(t, "stage")...); !errors.Is(err, ErrBusy) {
		t.Fatalf("a second copying: %v", err)
	}
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(c.Dir, rec.SHA256+partSuffix)); err != nil {
		t.Error("it was not under way: ", err)
	}
	if out, err := exec.Command("kill", "-9", strings.TrimSpace(string(pid))).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.Wait = 20 * time.Second
	holds(t, c, f, rec, self(t, "stage")...)
	if _, err := os.Lstat(filepath.Join(c.Dir, rec.SHA256+partSuffix)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the part is left: ", err)
	}
}

// The budget holds: the copy that was used longest ago leaves.
func TestBudget(t *testing.T) {
	c := config(t)
	c.Budget = 2*testSize + 1
	command := self(t, "stage")
	f1, r1 := source(t, 4)
	f2, r2 := source(t, 5)
	f3, r3 := source(t, 6)
	holds(t, c, f1, r1, command...)
	holds(t, c, f2, r2, command...)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(c.Dir, r2.SHA256+recordSuffix), old, old); err != nil {
		t.Fatal(err)
	}
	holds(t, c, f3, r3, command...)
	for rec, want := range map[*image.Record]bool{r1: true, r2: false, r3: true} {
		if _, err := os.Lstat(filepath.Join(c.Dir, rec.SHA256+imageSuffix)); (err == nil) != want {
			t.Errorf("%s: there is %v, want %v", rec.SHA256, err == nil, want)
		}
	}
	c.Budget = testSize - 1
	f4, r4 := source(t, 7)
	if _, err := c.Get(f4, r4, command...); !errors.Is(err, ErrRoom) {
		t.Errorf("an image beyond the budget: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(c.Dir, r1.SHA256+imageSuffix)); err != nil {
		t.Error("it left in vain: ", err)
	}
}

// What a loop device shows does not leave.
func TestInUseStays(t *testing.T) {
	if _, err := os.Stat("/dev/loop-control"); err != nil || os.Geteuid() != 0 {
		t.Skip("NOT ROOT, OR NO LOOP DEVICES")
	}
	c := config(t)
	c.Budget = testSize + 1
	f1, r1 := source(t, 11)
	f2, r2 := source(t, 12)
	copied, err := c.Get(f1, r1, self(t, "stage")...)
	if err != nil {
		t.Fatal(err)
	}
	device, err := loopdev.Free()
	if err == nil {
		err = loopdev.Configure(device, copied)
	}
	if err = errors.Join(err, copied.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(f2, r2, self(t, "stage")...); !errors.Is(err, ErrRoom) {
		t.Errorf("in use: %v", err)
	}
	holds(t, c, f1, r1, self(t, "stage")...)
	if err := device.Close(); err != nil { // the last user: it is freed
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got, err := c.Get(f2, r2, self(t, "stage")...)
		if err == nil {
			if err := got.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, ErrRoom) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// Nor what a process has open, which may show it by other means.
func TestOpenStays(t *testing.T) {
	c := config(t)
	c.Budget = testSize + 1
	f1, r1 := source(t, 13)
	f2, r2 := source(t, 14)
	copied, err := c.Get(f1, r1, self(t, "stage")...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	cmd.ExtraFiles = []*os.File{copied}
	if err := errors.Join(cmd.Start(), copied.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(f2, r2, self(t, "stage")...); !errors.Is(err, ErrRoom) {
		t.Errorf("open: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatal(err)
	}
	holds(t, c, f2, r2, self(t, "stage")...)
}

// What others made, or could write to, is not used.
func TestForeign(t *testing.T) {
	f, rec := source(t, 8)
	for name, spoil := range map[string]func(dir string) error{
		"open to all": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) },
		"a link":      func(dir string) error { return os.Symlink(os.TempDir(), dir) },
		"a file":      func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"another's": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 12345, 12345))
		},
	} {
		if name == "another's" && os.Geteuid() != 0 {
			continue
		}
		c := config(t)
		if err := spoil(c.Dir); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(f, rec, self(t, "stage")...); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A link in the place of a copy.
	c := config(t)
	holds(t, c, f, rec, self(t, "stage")...)
	path := filepath.Join(c.Dir, rec.SHA256+imageSuffix)
	if err := errors.Join(os.Rename(path, path+".x"), os.Symlink(path+".x", path)); err != nil {
		t.Fatal(err)
	}
	holds(t, c, f, rec, self(t, "stage")...)
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		t.Errorf("the link is still there: %v", err)
	}
}

func TestMemory(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "hpcenv-copies-")
	if err != nil {
		t.Skip("NO /dev/shm: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	f, rec := source(t, 9)
	c := &Config{Dir: filepath.Join(shm, "c"), Wait: 20 * time.Second}
	if _, err := c.Get(f, rec, self(t, "stage")...); !errors.Is(err, ErrMemory) {
		t.Fatal(err)
	}
	c.Memory = true
	holds(t, c, f, rec, self(t, "stage")...)
}

// A file system without room is told.
func TestFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: no small file system can be mounted")
	}
	f, rec := source(t, 10)
	c := config(t)
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", c.Dir).CombinedOutput(); err != nil {
		t.Skipf("NO TMPFS: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", c.Dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	if _, err := c.Get(f, rec, self(t, "stage")...); !errors.Is(err, ErrRoom) {
		t.Error(err)
	}
}

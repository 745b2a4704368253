package cache_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/faultfs"
)

// quick are times for tests: a second for what is a minute elsewhere.
func quick() cache.HoldOptions {
	return cache.HoldOptions{Every: 100 * time.Millisecond, Expire: time.Second}
}

func save(s *cache.Store, name string) error {
	return s.SaveFile(filepath.Join(s.Root(), "names", name), 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, name)
		return err
	})
}

// heldStore opens a store of the test's own twice, as two daemons would.
func heldStore(t *testing.T) (*cache.Store, *cache.Store) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "store")
	format := cache.Format{Version: cache.FormatVersion, PrefixRoot: "/opt/x/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()}
	a, err := cache.Create(root, format)
	if err != nil {
		t.Fatal(err)
	}
	b, err := cache.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

func TestHold(t *testing.T) {
	a, b := heldStore(t)
	first, err := a.Hold(t.Context(), quick())
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Hold(t.Context(), quick())
	if !errors.Is(err, cache.ErrHeld) || !errors.Is(err, cache.ErrStore) || !strings.Contains(err.Error(), "process ") || !strings.Contains(err.Error(), "next: ") {
		t.Fatalf("the second: %v", err)
	}
	if err := save(a, "x"); err != nil {
		t.Fatal(err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := save(a, "y"); !errors.Is(err, cache.ErrStore) {
		t.Errorf("published after the release: %v", err)
	}
	second, err := b.Hold(t.Context(), quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestHoldOfTheDead: a killed daemon of this host is replaced at once, one of another
// host after its silence and not before, and what a power cut left of the file, too.
func TestHoldOfTheDead(t *testing.T) {
	a, _ := heldStore(t)
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(a.Root(), "holder"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	here := `{"host":"` + host + `","boot":"` + strings.TrimSpace(string(boot)) + `","pid":`
	for _, c := range []struct {
		name, text string
		waits      bool
	}{
		{"process gone", here + `4194304,"start":"1","nonce":"n"}` + "\n 7\n", false},
		{"number given again", here + `1,"start":"999999999","nonce":"n"}` + "\n 7\n", false},
		{"another host", `{"host":"elsewhere","boot":"b","pid":1,"start":"1","nonce":"n"}` + "\n 7\n", true},
		{"an earlier boot", `{"host":"` + host + `","boot":"b","pid":1,"start":"1","nonce":"n"}` + "\n 7\n", true},
		{"torn", `{"host":"el`, true},
		{"empty", "", true},
	} {
		write(c.text)
		start, told := time.Now(), false
		opts := quick()
		opts.Waiting = func(cache.Holder) { told = true }
		h, err := a.Hold(t.Context(), opts)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if waited := time.Since(start) >= opts.Expire; waited != c.waits || told != c.waits {
			t.Errorf("%s: took %s, told %v", c.name, time.Since(start), told)
		}
		if err := h.Release(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Waiting ends with the context.
	write(`{"host":"elsewhere","nonce":"n"}` + "\n 7\n")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Hold(ctx, quick()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestHoldIsOnes: of many that find a dead holder one wins.
func TestHoldIsOnes(t *testing.T) {
	a, _ := heldStore(t)
	if err := os.WriteFile(filepath.Join(a.Root(), "holder"), []byte(`{"host":"elsewhere","nonce":"n"}`+"\n 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var holds sync.Map
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			s, err := cache.Open(a.Root())
			if err != nil {
				t.Error(err)
				return
			}
			opts := cache.HoldOptions{Every: 20 * time.Millisecond, Expire: 300 * time.Millisecond}
			h, err := s.Hold(t.Context(), opts)
			if err == nil {
				won.Add(1)
				holds.Store(i, h)
			} else if !errors.Is(err, cache.ErrHeld) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	time.Sleep(500 * time.Millisecond)
	good := 0
	holds.Range(func(_, v any) bool {
		h := v.(*cache.Hold)
		if h.Err() == nil {
			good++
		}
		if err := h.Release(); err != nil && h.Err() == nil {
			t.Error(err)
		}
		return true
	})
	if good != 1 {
		t.Errorf("%d of %d that were let in hold it in the end", good, won.Load())
	}
}

// TestHoldLost: a daemon that was taken for dead publishes nothing more.
func TestHoldLost(t *testing.T) {
	a, _ := heldStore(t)
	h, err := a.Hold(t.Context(), quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(a.Root(), "holder")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.Root(), "holder"), []byte(`{"host":"elsewhere","pid":9,"nonce":"n"}`+"\n 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Lost():
	case <-time.After(10 * time.Second):
		t.Fatal("it does not notice")
	}
	if err := h.Err(); !errors.Is(err, cache.ErrHeld) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("%v", err)
	}
	if err := save(a, "x"); !errors.Is(err, cache.ErrHeld) {
		t.Errorf("it publishes: %v", err)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(a.Root(), "holder")); err != nil {
		t.Errorf("it removed the other's: %v", err)
	}
}

// TestHoldWithoutLinks: file systems without hard links serve as well.
func TestHoldWithoutLinks(t *testing.T) {
	f := faultfs.Mount(t, faultfs.Options{Rules: []faultfs.Rule{faultfs.NoLinks(syscall.EPERM)}})
	format := cache.Format{Version: cache.FormatVersion, PrefixRoot: "/opt/x/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()}
	a, err := cache.Create(filepath.Join(f.Dir, "store"), format)
	if err != nil {
		t.Fatal(err)
	}
	h, err := a.Hold(t.Context(), quick())
	if err != nil {
		t.Fatal(err)
	}
	b, err := cache.Open(a.Root())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Hold(t.Context(), quick()); !errors.Is(err, cache.ErrHeld) {
		t.Errorf("the second: %v", err)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}

// TestHoldKilled: the process itself, killed with -9, holds nothing any more.
func TestHoldKilled(t *testing.T) {
	if root := os.Getenv("HPCENV_TEST_HOLD"); root != "" {
		s, err := cache.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Hold(t.Context(), cache.HoldOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString("held\n"); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	a, _ := heldStore(t)
	cmd := exec.Command(os.Args[0], "-test.run=TestHoldKilled$")
	cmd.Env = append(os.Environ(), "HPCENV_TEST_HOLD="+a.Root())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("%q %v", line, err)
	}
	if _, err := a.Hold(t.Context(), quick()); !errors.Is(err, cache.ErrHeld) {
		t.Fatalf("while it lives: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	h, err := a.Hold(t.Context(), quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}

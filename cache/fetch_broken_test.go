package cache

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process that is killed between sealing a download and naming it leaves a
// part that its owner may not write to. The next one goes on from there.
func TestFetchTakesASealedPart(t *testing.T) {
	if os.Geteuid() == 0 {
		// Modes mean nothing to root.
		exe, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		dir, err := os.MkdirTemp("/tmp", "hpcenv-part-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		program := filepath.Join(dir, "test")
		if err := errors.Join(os.WriteFile(program, exe, 0o755), os.Chmod(dir, 0o777)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-test.run=^TestFetchTakesASealedPart$", "-test.v")
		cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestFetchTakesASealedPart")) {
			t.Fatalf("as another user: %v\n%s", err, out)
		}
		return
	}
	s, data := newStore(t), noise(1000)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
	}))
	src := sourceOf(data, FormatConda, srv.URL)
	for name, part := range map[string][]byte{"whole": data, "of another file": noise(1001)[1:]} {
		if err := os.WriteFile(filepath.Join(s.Root(), "archives", src.SHA256+".part"), part, 0o444); err != nil {
			t.Fatal(err)
		}
		path, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), src, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mustHold(t, path, data)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that sends a byte now and then does not keep those waiting who want
// the same archive.
func TestFetchLeavesADrippingTransfer(t *testing.T) {
	s, data := newStore(t), noise(100_000)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100000")
		for i := range data {
			if _, err := w.Write(data[i : i+1]); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}))
	f := quick(FetchOptions{StallTimeout: 50 * time.Millisecond, Retries: -1})
	if _, _, err := s.Fetch(context.Background(), f, sourceOf(data, FormatConda, srv.URL), nil); !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "less than 64 KiB came in 50ms") {
		t.Errorf("got %v", err)
	}
}

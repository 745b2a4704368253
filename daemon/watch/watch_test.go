package watch_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/watch"
)

// desk counts what is prepared.
type desk struct {
	asked []string // base names of locks' directories, with the content
	fail  map[string]error
}

func (d *desk) prepare(_ context.Context, req *api.PrepareRequest) (*api.PrepareResult, error) {
	name := filepath.Base(filepath.Dir(req.LockPath))
	d.asked = append(d.asked, name+":"+string(req.Lock))
	if err := d.fail[name]; err != nil {
		return nil, err
	}
	return &api.PrepareResult{Environments: []api.Environment{{New: true}}}, nil
}

func put(t *testing.T, path, text string, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func watcher(d *desk, paths ...string) *watch.Watcher {
	var entries []watch.Entry
	for _, p := range paths {
		entries = append(entries, watch.Entry{Path: p})
	}
	return watch.New(entries, watch.Options{Prepare: d.prepare, Log: slog.New(slog.DiscardHandler)})
}

func states(w *watch.Watcher) (out []string) {
	for _, s := range w.Status() {
		out = append(out, filepath.Base(filepath.Dir(s.Path))+" "+s.State)
	}
	return out
}

func TestChangesArePrepared(t *testing.T) {
	dir := t.TempDir()
	d := &desk{fail: map[string]error{"bad": errors.New("no such package")}}
	for _, name := range []string{"good", "bad", "young"} {
		age := time.Hour
		if name == "young" {
			age = 0
		}
		put(t, filepath.Join(dir, "p", name, "pixi.lock"), "1", age)
	}
	put(t, filepath.Join(dir, "globbed", "x.d", "pixi.lock"), "1", time.Hour)
	put(t, filepath.Join(dir, "p", ".hidden", "pixi.lock"), "1", time.Hour)
	w := watcher(d, filepath.Join(dir, "p"), filepath.Join(dir, "globbed", "*.d", "pixi.lock"), filepath.Join(dir, "absent"))
	if err := w.Scan(t.Context()); err == nil || !strings.Contains(err.Error(), "1 watched locks are not prepared") {
		t.Errorf("%v", err)
	}
	if want := []string{"bad failed", "young waiting", "x.d prepared", "good prepared"}; !slices.Equal(slices.Sorted(slices.Values(states(w))), slices.Sorted(slices.Values(want))) {
		t.Errorf("%v", states(w))
	}
	if states(w)[0] != "bad failed" {
		t.Errorf("what failed does not come first: %v", states(w))
	}
	// Again: what is well is left alone, what failed is tried, what was young is taken.
	d.asked = nil
	put(t, filepath.Join(dir, "p", "young", "pixi.lock"), "1", time.Minute)
	delete(d.fail, "bad")
	if err := w.Scan(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"bad:1", "young:1"}; !slices.Equal(d.asked, want) {
		t.Errorf("%v", d.asked)
	}
	// A change, and one that went.
	d.asked = nil
	put(t, filepath.Join(dir, "p", "good", "pixi.lock"), "22", time.Minute)
	if err := os.RemoveAll(filepath.Join(dir, "p", "bad")); err != nil {
		t.Fatal(err)
	}
	if err := w.Scan(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"good:22"}; !slices.Equal(d.asked, want) || len(w.Status()) != 3 {
		t.Errorf("%v %v", d.asked, states(w))
	}
	w.SetEntries(nil)
	if err := w.Scan(t.Context()); err != nil || len(w.Status()) != 0 {
		t.Errorf("%v %v", err, states(w))
	}
}

// TestNothingElseIsOpened: links, pipes and devices are none, whoever put them there.
func TestNothingElseIsOpened(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "secret"), "secret", time.Hour)
	d := &desk{}
	for _, name := range []string{"link", "pipe"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "link", "pixi.lock")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe", "pixi.lock"), 0o666); err != nil {
		t.Fatal(err)
	}
	w := watcher(d, filepath.Join(dir, "*", "pixi.lock"))
	done := make(chan error, 1)
	go func() { done <- w.Scan(t.Context()) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("it is taken for well")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a pipe stops it")
	}
	for _, s := range w.Status() {
		if s.State != api.WatchFailed || !strings.Contains(s.Problem, "no regular file") || strings.Contains(s.Problem, "secret\"") {
			t.Errorf("%+v", s)
		}
	}
	if len(d.asked) > 0 || len(w.Status()) != 2 {
		t.Errorf("%v %v", d.asked, states(w))
	}
}

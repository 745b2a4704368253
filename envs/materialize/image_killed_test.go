//go:build linux

package materialize_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

const killedVariable = "HPCENV_TEST_KILLED_STORE"

// Killed at any instant, a run leaves nothing that is seen: what is published is
// whole, and the next run completes.
func TestImageKilledAtAnyInstant(t *testing.T) {
	if root := os.Getenv(killedVariable); root != "" {
		makeImageAt(t, root)
		return
	}
	images(t)
	child := func(s *cache.Store, archives string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestImageKilledAtAnyInstant$", "-test.count=1")
		cmd.Env = append(os.Environ(), killedVariable+"="+s.Root()+"\n"+archives)
		return cmd
	}
	dir := t.TempDir()
	var archives []string
	for i, p := range append(sample(), noise(6<<20)) {
		archive, _ := p.Write(t, dir, i%2 == 1)
		archives = append(archives, archive)
	}
	list := strings.Join(archives, "\n")
	start := time.Now()
	if out, err := child(newStore(t), list).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(start)
	s := newStore(t)
	const runs = 6
	midway := 0
	for i := range runs {
		cmd := child(s, list)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole * time.Duration(i+3) / (runs + 3))
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		killed := cmd.Wait() != nil
		meta, err := materialize.Published(s, testID, testPlatform)
		switch {
		case err == nil:
			if meta.Delivered.WantsImage() {
				mustMatch(t, s, meta)
			}
			// The next one starts anew.
			for _, p := range []string{s.ImagePath(testPlatform, testID), s.TreePath(testPlatform, testID)} {
				if err := os.RemoveAll(p); err != nil {
					t.Fatal(err)
				}
			}
		case !errors.Is(err, cache.ErrNotFound):
			t.Fatal(err)
		case killed:
			midway++
		}
	}
	t.Logf("killed %d of %d runs midway", midway, runs)
	if midway < 3 {
		t.Error("the runs were too short to be killed midway")
	}
	if out, err := child(s, list).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	meta, err := materialize.PublishedAs(s, testID, testPlatform, image.Both)
	if err != nil {
		t.Fatal(err)
	}
	mustMatch(t, s, meta)
	if _, err := s.CleanTemp(0); err != nil {
		t.Fatal(err)
	}
	checkClean(t, s)
}

// makeImageAt is the child: text is a store, and archives.
func makeImageAt(t *testing.T, text string) {
	lines := strings.Split(text, "\n")
	s, err := cache.Open(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []materialize.Package
	for _, a := range lines[1:] {
		p, err := ingest(t, s, a)
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if _, _, err := materialize.Materialize(t.Context(), s, imageRequest(t, pkgs, image.Both)); err != nil {
		t.Fatal(err)
	}
}

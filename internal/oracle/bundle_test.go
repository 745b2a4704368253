//go:build oracle

package oracle

import (
	"archive/tar"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bundle"
)

//go:embed bundle.py
var bundleSource string

// TestBundles: rattler solves and installs from a bundle's channel, as it does from
// any, and gets the packages of the lock and the same prefix. The lock that follows
// from the channel alone tells it the same, too.
func TestBundles(t *testing.T) {
	s := newSession(t)
	for n := range 2 * len(themes) {
		set := Generate(n)
		t.Run(set.Name, func(t *testing.T) {
			s.checkBundle(t, solvableLock(t, set), set.PrefixLen)
		})
	}
}

// solvableLock writes the packages of a set and returns their lock.
func solvableLock(t *testing.T, set Set) []byte {
	var locked []Locked
	dir := t.TempDir()
	for i, p := range set.Packages {
		p.Depends = solvable(p.Depends)
		locked = append(locked, writePackage(t, dir, p, set.SitePackages, i%3 == 1))
	}
	return Text(locked)
}

// solvable are the dependencies of a generated package by name alone, without those
// on what is nowhere: the sets are made for installers, no solver could solve them.
func solvable(depends []string) (out []string) {
	for _, d := range depends {
		name := d[strings.LastIndex(d, ":")+1:]
		if i := strings.IndexAny(name, " =<>!~["); i >= 0 {
			name = name[:i]
		}
		if name != "absent" && !strings.HasPrefix(name, "__") {
			out = append(out, name)
		}
	}
	return out
}

// writeBundle writes the bundle of a lock whose packages are files.
func writeBundle(t *testing.T, lock []byte) (*bundle.Plan, []byte) {
	t.Helper()
	plan, err := bundle.NewPlan(bundle.Project{LockName: "pixi.lock", Lock: lock}, nil, nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = plan.Write(context.Background(), &out, func(_ context.Context, src cache.Source) (io.ReadCloser, int64, error) {
		u, err := url.Parse(src.URL)
		if err != nil {
			return nil, 0, err
		}
		f, err := os.Open(u.Path)
		if err != nil {
			return nil, 0, err
		}
		st, err := f.Stat()
		return f, st.Size(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan, out.Bytes()
}

func (s *session) checkBundle(t *testing.T, lock []byte, prefixLen int) {
	plan, data := writeBundle(t, lock)
	root := t.TempDir()
	unpack(t, data, root)
	if err := os.Rename(filepath.Join(root, "hpcenv"), filepath.Join(t.TempDir(), "hpcenv")); err != nil {
		t.Fatal(err)
	}
	pack, err := bundle.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	derived := filepath.Join(root, "derived.lock")
	if err := errors.Join(os.WriteFile(derived, pack.Project.Lock, 0o644), pack.Close()); err != nil {
		t.Fatal(err)
	}
	prefix := s.prefix(t, prefixLen)
	want, err := s.rattler(t, lock, "default", prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(prefix); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(s.driver.python, "-I", "-W", "ignore", "-c", bundleSource, root, derived, prefix, filepath.Join(root, "cache"))
	cmd.Env = []string{"HOME=" + s.driver.home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "RUST_LOG=error", "RAYON_NUM_THREADS=1"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	answer, err := cmd.Output()
	if err != nil {
		t.Fatalf("rattler: %v: %s", err, stderr.String())
	}
	have, err := ReadSide(prefix)
	if err != nil {
		t.Fatal(err)
	}
	if len(have.Tree) < 5 {
		t.Errorf("only %d paths were installed", len(have.Tree))
	}
	// Records say where archives were; and which empty directories rattler leaves
	// where it sorted out conflicts is not always the same.
	want.Records, have.Records = nil, nil
	for _, d := range Compare(want, have) {
		if !strings.HasPrefix(d.Path, "__clobbers__") || d.Rattler+d.Hpcenv != "directory" {
			t.Error(d)
		}
	}
	lists := strings.Split(strings.TrimSpace(string(answer)), "\n")
	if len(lists) != 2 {
		t.Fatalf("rattler: %s", answer)
	}
	var found, fromLock []map[string]any
	if err := errors.Join(json.Unmarshal([]byte(lists[0]), &found), json.Unmarshal([]byte(lists[1]), &fromLock)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(found, fromLock); d != "" || len(found) == 0 {
		t.Errorf("the derived lock differs from the channel (- channel, + lock):\n%s", d)
	}
	sums := []string{}
	for _, r := range found {
		sums = append(sums, fmt.Sprint(r["sha256"]))
	}
	slices.Sort(sums)
	var locked []string
	for _, src := range plan.Sources() {
		locked = append(locked, src.SHA256)
	}
	slices.Sort(locked)
	if d := cmp.Diff(locked, sums); d != "" {
		t.Errorf("the solver took other packages (- lock, + solver):\n%s", d)
	}
}

// unpack puts a tar's files below dir.
func unpack(t *testing.T, data []byte, dir string) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err == nil && h.Typeflag == tar.TypeDir {
			err = os.Mkdir(filepath.Join(dir, h.Name), fs.FileMode(h.Mode))
		} else if err == nil {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(filepath.Join(dir, h.Name), content, fs.FileMode(h.Mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

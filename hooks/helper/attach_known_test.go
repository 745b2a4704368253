package helper

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// watched is a store behind a file system that notes each metadata operation, as a node
// that was just started would ask for it.
type watched struct {
	fuse.RawFileSystem
	mu   sync.Mutex
	seen []string
}

func (w *watched) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, fmt.Sprintf(format, args...))
}

func (w *watched) Lookup(c <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	w.note("lookup %s", name)
	return w.RawFileSystem.Lookup(c, h, name, out)
}

func (w *watched) GetAttr(c <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	w.note("getattr %d", in.NodeId)
	return w.RawFileSystem.GetAttr(c, in, out)
}

func (w *watched) Open(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	w.note("open %d", in.NodeId)
	return w.RawFileSystem.Open(c, in, out)
}

func (w *watched) OpenDir(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	w.note("opendir %d", in.NodeId)
	return w.RawFileSystem.OpenDir(c, in, out)
}

// watch serves the image store's store beside it; stop unmounts.
func (s *imageStore) watch(t *testing.T) (w *watched, stop func()) {
	t.Helper()
	at := filepath.Join(s.base, "seen")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	remember := time.Minute // what was found; not that something is not there
	root, err := fs.NewLoopbackRoot(filepath.Join(s.base, "store"))
	if err != nil {
		t.Fatal(err)
	}
	w = &watched{RawFileSystem: fs.NewNodeFS(root, &fs.Options{EntryTimeout: &remember, AttrTimeout: &remember})}
	// The kernel checks modes, as it does for storage that trusts it.
	srv, err := fuse.NewServer(w, at, &fuse.MountOptions{AllowOther: true, DirectMount: true, Options: []string{"default_permissions"}})
	if err != nil {
		t.Skip("NO FUSE: ", err)
	}
	go srv.Serve()
	if err := srv.WaitMount(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := srv.Unmount(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return w, stop
}

// activateAs is a line of shell that activates as the user and prints the result.
func (s *imageStore) activateAs(pin string) string {
	// The test's program lies where only root looks.
	return `cp "$self" ` + s.base + `/self; setpriv --reuid 12345 --regid 12346 --clear-groups env -i SLURMD_NODENAME=n1 SLURM_JOB_NODELIST=n1 ` + s.base + `/self spank activate --store=` + s.base + `/seen --prefix-root=$root --run-dir=` + s.base + `/run --job=1 --step=0 --pin='` + pin + `' | tr '\0' '\n'`
}

// replaceArg gives attach another argument in the place of one that begins so.
func (s *imageStore) replaceArg(t *testing.T, prefix, value string) {
	t.Helper()
	i := slices.IndexFunc(s.args, func(a string) bool { return strings.HasPrefix(a, prefix) })
	if i < 0 {
		t.Fatalf("attach has no %s", prefix)
	}
	s.args = slices.Clone(s.args)
	s.args[i] = prefix + value
}

// The launch after the one that made the copy asks the store for next to nothing:
// attaching and activating take five metadata operations at most together; of a group's
// environment, whose part lies a folder deeper, six.
func TestKnownCopyAsksLittle(t *testing.T) {
	for group, most := range map[string]int{"": 5, "12346": 6} {
		t.Run("group "+group, func(t *testing.T) {
			s := newImageStore(t)
			act := []byte(`{"env":{"":{"FROM_MANIFEST":"yes"}}}`)
			sum := sha256.Sum256(act)
			digest := hex.EncodeToString(sum[:])
			p := testPin(func(p *pin.Pin) { p.Activation, p.Group = digest, group })
			part := filepath.Join(s.base, "store")
			ask, err := (&needs.Needs{Version: needs.Version}).Encode()
			if err == nil {
				err = os.WriteFile(filepath.Join(part, "meta", testID, hostPlatform()+".needs.json"), ask, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			if group != "" {
				part = filepath.Join(part, "private", group)
				if err := os.MkdirAll(part, 0o750); err != nil {
					t.Fatal(err)
				}
				for _, dir := range []string{"images", "meta", "trees"} {
					if err := os.Rename(filepath.Join(s.base, "store", dir), filepath.Join(part, dir)); err != nil {
						t.Fatal(err)
					}
				}
				s.image = strings.Replace(s.image, filepath.Join(s.base, "store"), part, 1)
				if err := errors.Join(os.Chmod(filepath.Dir(part), 0o755), os.Chown(part, 0, 12346), os.Chmod(part, 0o750)); err != nil {
					t.Fatal(err)
				}
			}
			acts := filepath.Join(part, "locks", testLock, "activation")
			if err := errors.Join(os.MkdirAll(acts, 0o755), os.WriteFile(filepath.Join(acts, digest+".json"), act, 0o644)); err != nil {
				t.Fatal(err)
			}
			s.replaceArg(t, "--store=", s.base+"/seen")
			s.replaceArg(t, "--pin=", wire(t, p))
			s.args = append(s.args, "--local="+filepath.Join(s.base, "copies"), "--local-memory")
			launch := func() (string, []string) {
				w, stop := s.watch(t)
				out, err := s.inNamespace(s.activateAs(wire(t, p)) + "; cat $root/" + testID + "/what; grep -c squashfs /proc/self/mountinfo")
				if err != nil || !strings.Contains(out, "set=FROM_MANIFEST=yes") || !strings.HasSuffix(out, "image1\n") || strings.Contains(out, "warning") {
					t.Fatalf("%v: %s", err, out)
				}
				s.freed(t)
				stop() // nothing is noted any more
				return out, w.seen
			}
			first, asked := launch()
			second, little := launch()
			t.Logf("first %d, second %d: %q", len(asked), len(little), little)
			if first != second {
				t.Errorf("first:\n%s\nsecond:\n%s", first, second)
			}
			if len(little) > most {
				t.Errorf("the second launch asks the store for %d: %q", len(little), little)
			}
			if group == "" {
				return
			}
			// Where the storage is not there, nothing proves that the user may have it.
			if out, err := s.inNamespace("echo attached"); err == nil || strings.Contains(out, "attached\n") {
				t.Errorf("without the store: %v: %s", err, out)
			}
			// Who is no member gets nothing of the copy.
			s.replaceArg(t, "--gid=", "12399")
			s.watch(t)
			out, err := s.inNamespace("echo attached")
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != api.ExitUnreachable || !strings.Contains(out, "members of group 12346 only") {
				t.Errorf("no member: %v: %s", err, out)
			}
		})
	}
}

// What the store cannot be asked does not matter; what is noted of a copy is root's alone.
func TestKnownCopyRecord(t *testing.T) {
	s := newImageStore(t)
	local := filepath.Join(s.base, "copies")
	s.args = append(s.args, "--local="+local, "--local-memory")
	s.replaceArg(t, "--pin=", wire(t, testPin()))
	if out, err := s.inNamespace("true"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(s.image, s.image+".gone"); err != nil {
		t.Fatal(err)
	}
	if out, err := s.inNamespace(lookLocal); err != nil || !strings.HasPrefix(out, "image\n"+local+"/") {
		t.Fatalf("the store's image is gone: %v: %s", err, out)
	}
	records, err := filepath.Glob(filepath.Join(local, "*.env"))
	if err != nil || len(records) != 1 {
		t.Fatalf("%v: %q", err, records)
	}
	b, err := os.ReadFile(records[0])
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func() error{
		"a user's":  func() error { return os.Chown(records[0], 12345, 12345) },
		"cut short": func() error { return os.Truncate(records[0], 20) },
		"another id's": func() error {
			r["id"] = treeID
			return errors.Join(os.Truncate(records[0], 0), writeJSON(records[0], r))
		},
	} {
		if err := errors.Join(os.WriteFile(records[0], b, 0o600), os.Chown(records[0], 0, 0), spoil()); err != nil {
			t.Fatal(err)
		}
		// The store is asked, which has none.
		if out, err := s.inNamespace("true"); err == nil || !strings.Contains(out, "no such file") {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
}

func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	return errors.Join(err, os.WriteFile(path, b, 0o600))
}

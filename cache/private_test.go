package cache

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// clusterStore makes a store that others read.
func clusterStore(t testing.TB) *Store {
	t.Helper()
	s, err := Create(filepath.Join(t.TempDir(), "store"), Format{Platforms: []string{"linux-64"}, PrefixRoot: "/opt/e", OwnerUID: os.Getuid()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPrivateIsTheGroups: what lies in a group's part can be reached by the owner
// and the group only, whatever was put there and whatever the umask; it has nothing
// of another group's, and takes from the rest what everybody may have.
func TestPrivateIsTheGroups(t *testing.T) {
	s := clusterStore(t)
	gid := os.Getgid()
	if os.Geteuid() == 0 {
		gid = 54321
	}
	if s.HasPrivate(gid) {
		t.Error("it is there before it is made")
	}
	p, err := s.Private(gid)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := p.Group(); !ok || got != gid || p.Root() != filepath.Join(s.Root(), "private", strconv.Itoa(gid)) || !s.HasPrivate(gid) {
		t.Errorf("group %d, %v, root %s", got, ok, p.Root())
	}
	secret := makeConda(t, member{name: "share/secret", body: "only for some"})
	open := makeConda(t, member{name: "share/open", body: "for all"})
	if err := p.ImportArchive(context.Background(), bytes.NewReader(secret), sourceOf(secret, FormatConda, "https://closed.example/s-1-0.conda")); err != nil {
		t.Fatal(err)
	}
	mustIngest(t, s, open, FormatConda)
	if err := s.ImportArchive(context.Background(), bytes.NewReader(open), sourceOf(open, FormatConda, "https://conda.example/demo-1-0")); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); w.WriteHeader(500) }))
	for name, data := range map[string][]byte{"secret": secret, "open": open} {
		src := sourceOf(data, FormatConda, srv.URL+"/"+name)
		if _, fetched, err := p.Ensure(context.Background(), quick(FetchOptions{}), src, plain(""), nil); err != nil || fetched {
			t.Errorf("%s: fetched %v, %v", name, fetched, err)
		}
		if _, err := s.Manifest(src.SHA256); errors.Is(err, ErrNotFound) != (name == "secret") {
			t.Errorf("%s in the store that all read: %v", name, err)
		}
		if ok, err := p.HasArchive(src); !ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("the network was asked %d times", asked.Load())
	}
	err = filepath.WalkDir(p.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if d.IsDir() && st.Mode() != os.ModeDir|0o750 {
			t.Errorf("%s has mode %v", path, st.Mode())
		}
		if got := int(st.Sys().(*syscall.Stat_t).Gid); d.IsDir() && got != gid {
			t.Errorf("%s belongs to group %d", path, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Private(gid)
	if err != nil || again.Root() != p.Root() {
		t.Errorf("again: %v", err)
	}
	if _, err := p.Private(gid); !errors.Is(err, ErrStore) {
		t.Errorf("a part of a part: %v", err)
	}
	// What unfinished runs left goes, there too.
	old := time.Now().Add(-time.Hour)
	left := filepath.Join(p.Root(), "tmp", "import-left")
	if err := errors.Join(os.Mkdir(left, 0o700), os.Chtimes(left, old, old)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.CleanTemp(time.Minute); err != nil || n != 1 {
		t.Errorf("cleaned %d, %v", n, err)
	}
}

// A user's own store is private as it is.
func TestOwnStoreNeedsNoPrivatePart(t *testing.T) {
	s := newStore(t)
	p, err := s.Private(os.Getgid())
	if err != nil || p != s || s.HasPrivate(os.Getgid()) {
		t.Errorf("%v, %v", p, err)
	}
	emptyDir(t, s, "private")
}

// An account that cannot give files to a group says what to do, and leaves nothing
// that others could read.
func TestPrivateNeedsTheGroup(t *testing.T) {
	if os.Getenv("HPCENV_TEST_PRIVATE") != "" {
		s := clusterStore(t)
		// Of this group it is a member: that is enough.
		p, err := s.Private(54322)
		if err != nil {
			t.Fatal(err)
		}
		mustIngest(t, p, makeConda(t, member{name: "share/x", body: "x"}), FormatConda)
		_, err = s.Private(54321)
		if !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "make it a member of the group, or give hpcenvd CAP_CHOWN") {
			t.Errorf("got %v", err)
		}
		if s.HasPrivate(54321) {
			t.Error("it counts as made")
		}
		st, err := os.Stat(filepath.Join(s.Root(), "private", "54321"))
		if err == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("mode %v", st.Mode())
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: nobody else can be played here, so the group's rights were not tested")
	}
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "hpcenv-private-")
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
	cmd := exec.Command(program, "-test.run=^TestPrivateNeedsTheGroup$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "HPCENV_TEST_PRIVATE=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345, Groups: []uint32{54322}}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestPrivateNeedsTheGroup")) {
		t.Fatalf("as another user: %v\n%s", err, out)
	}
}

// What a credential fetched is known by its mark, as long as it is there.
func TestClosed(t *testing.T) {
	s := clusterStore(t)
	p, err := s.Private(os.Getgid())
	if err != nil {
		t.Fatal(err)
	}
	data := makeConda(t, member{name: "share/secret", body: "only for some"})
	src := sourceOf(data, FormatConda, "https://closed.example/s-1-0.conda")
	closed := func(when string, want bool) {
		t.Helper()
		if got, err := p.Closed(src); got != want || err != nil {
			t.Errorf("%s: %v, %v", when, got, err)
		}
		if got, err := s.Closed(src); got || err != nil {
			t.Errorf("%s, in the store that all read: %v, %v", when, got, err)
		}
	}
	closed("nothing", false)
	if err := errors.Join(p.MarkClosed(src), s.MarkClosed(src)); err != nil {
		t.Fatal(err)
	}
	closed("a mark alone", false)
	if err := p.ImportArchive(context.Background(), bytes.NewReader(data), src); err != nil {
		t.Fatal(err)
	}
	closed("with the archive", true)
	if _, _, err := p.Ensure(context.Background(), quick(FetchOptions{}), src, plain(""), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.ArchivePath(src)); err != nil {
		t.Fatal(err)
	}
	closed("taken in", true)
	parts, err := s.Parts()
	if err != nil || len(parts) != 1 || parts[0].Root() != p.Root() {
		t.Errorf("parts: %v, %v", parts, err)
	}
}

// In a user's own store nothing that a credential fetches comes where everybody may
// look.
func TestOwnStoreKeepsWhatIsPrivate(t *testing.T) {
	data := noise(3000)
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o750: false, 0o755: true, 0o711: true} {
		u := newUser(t)
		srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := w.Write(data); err != nil {
				t.Log(err)
			}
		}))
		root := filepath.Join(t.TempDir(), "s")
		if err := errors.Join(os.Mkdir(root, 0o700), os.Chmod(root, mode)); err != nil {
			t.Fatal(err)
		}
		s, err := Create(root, Format{Platforms: []string{"linux-64"}, OwnerUID: os.Getuid()})
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(root); err != nil || st.Mode().Perm() != mode {
			t.Errorf("mode %v became %v, %v", mode, st.Mode(), err)
		}
		f := quick(FetchOptions{Access: u.access})
		src := sourceOf(data, FormatConda, srv.URL+"/linux-64/demo-1-0.conda")
		u.write(".netrc", "machine 127.0.0.1 login me password x\n")
		_, _, err = s.Fetch(context.Background(), f, src, nil)
		if errors.Is(err, ErrStore) != refused || (err == nil) == refused {
			t.Errorf("mode %v: %v", mode, err)
		}
		if found, gerr := filepath.Glob(filepath.Join(root, "archives", "*")); gerr != nil || (len(found) > 0) == refused {
			t.Errorf("mode %v: %v, %v", mode, found, gerr)
		}
	}
}

// A netrc that cannot be read hinders nobody but who needs it, and is told of.
func TestUnreadableNetrc(t *testing.T) {
	data := noise(3000)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "closed") {
			http.Error(w, "who?", http.StatusUnauthorized)
		} else if _, err := w.Write(data); err != nil {
			t.Log(err)
		}
	}))
	u := newUser(t)
	u.write(".netrc", "machine x login y\npasswort z\n")
	f := quick(FetchOptions{Access: u.access})
	if w := f.Warnings(); len(w) != 0 {
		t.Errorf("before anything was fetched: %q", w)
	}
	if _, _, err := newStore(t).Fetch(context.Background(), f, sourceOf(data, FormatConda, srv.URL+"/open/linux-64/demo-1-0.conda"), nil); err != nil {
		t.Error(err)
	}
	if w := f.Warnings(); len(w) != 1 || !strings.Contains(w[0], ".netrc:2: ") || strings.Contains(w[0], "passwort") {
		t.Errorf("warnings %q", w)
	}
	_, _, err := newStore(t).Fetch(context.Background(), f, sourceOf(data, FormatConda, srv.URL+"/closed/linux-64/demo-1-0.conda"), nil)
	if !WantsCredential(err) || !strings.Contains(err.Error(), "the credential may be in a file that cannot be read: ") {
		t.Errorf("got %v", err)
	}
}

package prepare

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

func TestCredentialsInLocksAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"version: 6\n- url: https://conda.example/ch/\n":                                  0,
		"a\n- url: https://u:p@conda.example/ch/\n":                                       2,
		"a\nb\nc: \"https://gph_0123456789abcdef@conda.example/ch/\"\n":                   3,
		"- conda: https://conda.example/t/tk-1/ch/linux-64/a-1-0.conda":                   1,
		"- conda: https://conda.example/t/linux-64/a-1-0.conda":                           0, // a channel called t
		"- pypi: git+ssh://git@host.example/a.git?rev=1#abc":                              0,
		"- pypi: git+ssh://git:pw@host.example/a.git":                                     1,
		"- pypi: git+https://host.example/a@v1.git":                                       0,
		"- pypi: https://oauth2accesstoken@host.example/a.whl":                            0,
		"- pypi: git+https://gph_0123456789abcdef@host.example/a.git":                     1,
		"url = { a = \"https://x.example\", b = \"https://u:p@y.example\" }":              1,
		"- url: https://conda.example/t/tk-0123456789abcdef0123/":                         1,
		"- url: https://conda.example/t/tk-0123456789abcdef0123":                          1,
		"- pypi: https://host.example/t/a_wheel_with_a_name-1-py3-none.whl":               0,
		"- pypi: git+https://host.example/t/repository.git":                               0,
		"- pypi: git+https://host.example/t/repository":                                   0,
		"- conda: https://conda.example/a-1-0.conda?X-Amz-Date=1&X-Amz-Signature=ab":      1,
		"- pypi: https://host.example/a.whl?sig=ab#sha256=cd":                             1,
		"- pypi: https://host.example/a.whl?download=1&token=":                            0,
		"- pypi: git+https://host.example/a.git?rev=token&subdirectory=signature#0123abc": 0,
		"://": 0,
		"- {url: https://conda.example/ch, next: https://u:@conda.example/ch/}\n\n": 1,
	} {
		if got := CredentialInLock([]byte(text)); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}

// TestRealLocksHoldNoCredentials: no lock that projects really have is refused
// for a credential that is none.
func TestRealLocksHoldNoCredentials(t *testing.T) {
	n := 0
	err := filepath.WalkDir(filepath.Join(testdata.Shared(t), "data", "locks"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		if line := CredentialInLock(data); line > 0 {
			t.Errorf("%s:%d: %s", path, line, strings.Split(string(data), "\n")[line-1])
		}
		return nil
	})
	if err != nil || n < 100 {
		t.Errorf("%d files, %v", n, err)
	}
}

// Where others read the store, a lock with a credential is refused before anything
// is written; in a user's own it is kept for the user only.
func TestLocksWithCredentials(t *testing.T) {
	w := newWorld(t)
	data := []byte(strings.Replace(string(lock(map[string][]string{"linux-64": {w.add("a", "linux-64")}})), "https://conda.example/", "https://u:hunter2@conda.example/", 1))
	w.deps.Shared = true
	_, err := Run(context.Background(), w.deps, &Request{Lock: data, Platforms: []string{"linux-64"}}, nil)
	if !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "holds a credential") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(filepath.Join(w.deps.Store.Root(), "locks")); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	w.deps.Shared = false
	res, err := Run(context.Background(), w.deps, &Request{Lock: data, Platforms: []string{"linux-64"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(w.deps.Store.LockDir(res.LockDigest), lockName))
	if err != nil || st.Mode().Perm() != 0o400 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// Offline, all that is missing is named at once, and what is there is made.
func TestOffline(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.add("a", "linux-64"), w.add("b", "linux-64"), w.add("c", "linux-64")
	if _, err := Run(context.Background(), w.deps, &Request{Lock: lock(map[string][]string{"linux-64": {a}}), Platforms: []string{"linux-64"}}, nil); err != nil {
		t.Fatal(err)
	}
	deps := *w.deps
	deps.Fetcher = w.deps.Fetcher.Offline()
	_, err := Run(context.Background(), &deps, &Request{Lock: lock(map[string][]string{"linux-64": {a, b, c}}), Platforms: []string{"linux-64"}, Offline: true}, nil)
	if !errors.Is(err, cache.ErrOffline) || !errors.Is(err, cache.ErrFetch) || !strings.Contains(err.Error(), "2 of the lock's packages are not in the store, and --offline forbids") ||
		!strings.Contains(err.Error(), "linux-64/b-1-0") || !strings.Contains(err.Error(), "linux-64/c-1-0") || strings.Contains(err.Error(), "a-1-0") {
		t.Errorf("got %v", err)
	}
	// Whoever forgets to ask first is refused all the same.
	if _, err := Run(context.Background(), &deps, &Request{Lock: lock(map[string][]string{"linux-64": {a, b}}), Platforms: []string{"linux-64"}}, nil); !errors.Is(err, cache.ErrOffline) {
		t.Errorf("got %v", err)
	}
	for path, n := range w.hits {
		if n != 1 || !strings.Contains(path, "/a-") {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

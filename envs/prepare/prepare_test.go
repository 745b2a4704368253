package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// world is a store, a channel and who asks for what there.
type world struct {
	t    *testing.T
	deps *Deps
	url  string
	data map[string][]byte
	mu   sync.Mutex
	hits map[string]int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, data: map[string][]byte{}, hits: map[string]int{}}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.hits[r.URL.Path]++
		data, ok := w.data[r.URL.Path]
		w.mu.Unlock()
		if !ok {
			http.NotFound(rw, r)
			return
		}
		if _, err := rw.Write(data); err != nil {
			t.Log(err) // a client that left
		}
	}))
	t.Cleanup(srv.Close)
	w.url = srv.URL
	store, err := cache.Create(filepath.Join(t.TempDir(), "store"), cache.Format{
		Platforms: []string{"linux-64", "linux-aarch64"}, PrefixRoot: "/opt/e", OwnerUID: os.Geteuid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.deps = &Deps{
		Store: store, Fetcher: cache.NewFetcher(cache.FetchOptions{AllowHost: cache.AllowAny, Retries: -1}),
		ClusterPlatforms: func(context.Context) ([]string, []string, error) {
			return []string{"linux-64", "linux-aarch64", "linux-ppc64le"}, nil, nil
		},
	}
	return w
}

// add puts a package into the channel and returns its entry for a lock.
func (w *world) add(name, subdir string) string {
	return w.addPackage(condatest.Package{Name: name, Version: "1", Build: "0", Subdir: subdir, Files: []condatest.File{{Path: "share/" + name, Content: name + subdir}}})
}

func (w *world) addPackage(p condatest.Package) string {
	data := p.Conda(w.t)
	path := "/" + p.TheSubdir() + "/" + p.Dist() + ".conda"
	w.data[path] = data
	sum := sha256.Sum256(data)
	return fmt.Sprintf("- conda: %s%s\n  sha256: %s\n  size: %d\n", w.url, path, hex.EncodeToString(sum[:]), len(data))
}

// lock makes a version 6 lock of one environment from entries by platform.
func lock(platforms map[string][]string) []byte {
	var b, records strings.Builder
	b.WriteString("version: 6\nenvironments:\n  default:\n    channels:\n    - url: https://conda.example/\n    packages:\n")
	var names []string
	for p := range platforms {
		names = append(names, p)
	}
	slices.Sort(names)
	for _, p := range names {
		fmt.Fprintf(&b, "      %s:\n", p)
		for _, entry := range platforms[p] {
			first, _, _ := strings.Cut(entry, "\n")
			fmt.Fprintf(&b, "      %s\n", first)
			records.WriteString(entry)
		}
	}
	return []byte(b.String() + "packages:\n" + records.String())
}

// Two locks that share a package, at once: each archive is fetched once, and
// both get whole environments.
func TestOverlappingRequestsFetchOnce(t *testing.T) {
	w := newWorld(t)
	shared, one, two := w.add("shared", "linux-64"), w.add("one", "linux-64"), w.add("two", "linux-64")
	var group sync.WaitGroup
	for range 3 {
		for _, own := range []string{one, two} {
			group.Go(func() {
				res, err := Run(context.Background(), w.deps, &Request{Lock: lock(map[string][]string{"linux-64": {shared, own}})}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				for _, p := range res.Environments[0].Meta.Packages {
					path := filepath.Join(w.deps.Store.TreePath("linux-64", res.Environments[0].ID), "share", p.Name)
					if _, err := os.Stat(path); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	for path, n := range w.hits {
		if n != 1 {
			t.Errorf("%s was fetched %d times", path, n)
		}
	}
}

// What forbids a platform forbids only that platform; the index says so.
func TestProblemsByPlatform(t *testing.T) {
	w := newWorld(t)
	sdist := "- pypi: https://pypi.example/w-1.tar.gz\n  name: w\n  version: '1'\n  sha256: " + strings.Repeat("0", 64) + "\n"
	req := &Request{Lock: lock(map[string][]string{"linux-64": {w.add("a", "linux-64")}, "linux-aarch64": {w.add("a", "linux-aarch64"), sdist}})}
	_, err := Run(context.Background(), w.deps, req, nil)
	if !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "w-1.tar.gz") {
		t.Errorf("both platforms: %v", err)
	}
	req.Platforms = []string{"linux-64"}
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(w.deps.Store.LockDir(res.LockDigest), indexName))
	if err != nil {
		t.Fatal(err)
	}
	var index lockfile.Index
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	e := index.Environments["default"]
	if e.ID != res.Environments[0].ID || e.Error != "" || e.Problems["linux-64"] != "" || !strings.Contains(e.Problems["linux-aarch64"], "tar.gz") {
		t.Errorf("index %+v", e)
	}
	// The quick way must not hide the problem.
	req.Platforms = nil
	if _, err := Run(context.Background(), w.deps, req, nil); !errors.Is(err, lockfile.ErrLock) {
		t.Errorf("both platforms again: %v", err)
	}
}

// A served request is not parsed again: here the kept index stands for a lock
// that cannot be parsed at all.
func TestTheSameAgainIsNotParsed(t *testing.T) {
	w := newWorld(t)
	good := &Request{Lock: lock(map[string][]string{"linux-64": {w.add("a", "linux-64")}})}
	first, err := Run(context.Background(), w.deps, good, nil)
	if err != nil {
		t.Fatal(err)
	}
	bad := &Request{Lock: []byte("no lock")}
	sum := sha256.Sum256(bad.Lock)
	digest := hex.EncodeToString(sum[:])
	index, err := os.ReadFile(filepath.Join(w.deps.Store.LockDir(first.LockDigest), indexName))
	if err != nil {
		t.Fatal(err)
	}
	r := &run{deps: w.deps, req: bad, digest: digest}
	if err := r.save(filepath.Join(w.deps.Store.LockDir(digest), indexName), []byte(strings.ReplaceAll(string(index), first.LockDigest, digest)), false); err != nil {
		t.Fatal(err)
	}
	var events []Event
	again, err := Run(context.Background(), w.deps, bad, func(e Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	if again.PackagesNew != 0 || again.PackagesKept != 1 || again.Environments[0].ID != first.Environments[0].ID || again.Environments[0].New {
		t.Errorf("got %+v", again)
	}
	for _, e := range events {
		if e.Type != EventPlan {
			t.Errorf("work was done: %+v", e)
		}
	}
	// An index of another linker does not count.
	if err := r.save(filepath.Join(w.deps.Store.LockDir(digest), indexName), []byte(strings.Replace(string(index), `"linker":`, `"linker":99`, 1)), false); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), w.deps, bad, nil); !errors.Is(err, lockfile.ErrLock) {
		t.Errorf("an old index was believed: %v", err)
	}
}

// Packages in local files are never opened unless that is allowed, and relative
// ones are found beside the lock if it is.
func TestLocalPackages(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	p := condatest.Package{Name: "loc", Version: "1", Build: "0", Subdir: "linux-64", Files: []condatest.File{{Path: "share/loc", Content: "x"}}}
	_, sum := p.Write(t, dir, false)
	entry := "- conda: ./linux-64/loc-1-0.conda\n  sha256: " + sum + "\n  name: loc\n  version: '1'\n  build: '0'\n  build_number: 0\n  subdir: linux-64\n"
	req := &Request{Lock: lock(map[string][]string{"linux-64": {entry}}), Dir: dir}
	_, err := Run(context.Background(), w.deps, req, nil)
	var need *NeedLocalError
	if !errors.As(err, &need) || len(need.Packages) != 1 || need.Packages[0].Location != "./linux-64/loc-1-0.conda" {
		t.Fatalf("got %v", err)
	}
	w.deps.OpenLocal = true
	w.deps.Fetcher = cache.NewFetcher(cache.FetchOptions{AllowFile: true})
	if _, err := Run(context.Background(), w.deps, req, nil); err != nil {
		t.Error(err)
	}
}

// A failure keeps what was taken in before, and the next run goes on.
func TestFailureKeepsWhatIsThere(t *testing.T) {
	w := newWorld(t)
	a, b := w.add("aa", "linux-64"), w.add("bb", "linux-64")
	data := w.data["/linux-64/bb-1-0.conda"]
	delete(w.data, "/linux-64/bb-1-0.conda")
	w.deps.Parallel = 1
	req := &Request{Lock: lock(map[string][]string{"linux-64": {a, b}})}
	if _, err := Run(context.Background(), w.deps, req, nil); !errors.Is(err, cache.ErrFetch) {
		t.Fatalf("got %v", err)
	}
	w.mu.Lock()
	w.data["/linux-64/bb-1-0.conda"] = data
	w.mu.Unlock()
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.PackagesKept+res.PackagesNew != 2 || w.hits["/linux-64/aa-1-0.conda"] > 1 {
		t.Errorf("got %+v, hits %v", res, w.hits)
	}
}

// Requests for what is there never wait behind those that work.
func TestReadyNeedsNoSlot(t *testing.T) {
	w := newWorld(t)
	req := &Request{Lock: lock(map[string][]string{"linux-64": {w.add("a", "linux-64")}})}
	slots := 0
	w.deps.Slot = func(context.Context, func()) (func(), error) {
		slots++
		return func() {}, nil
	}
	for range 2 {
		if _, err := Run(context.Background(), w.deps, req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if slots != 1 {
		t.Errorf("asked for a slot %d times, want once", slots)
	}
}

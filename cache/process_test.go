package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/internal/ownmounts"
)

// TestMain runs the test binary as a second process of a test when asked to.
func TestMain(m *testing.M) {
	if os.Getenv("CACHE_TEST_CHILD") == "" {
		os.Exit(ownmounts.Run(m.Run))
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child ensures the packages that its arguments describe, each "<sha256>
// <url>", in the store given first, and prints how many it fetched. It does so
// in one batch, or one package after the other.
func child() error {
	s, err := Open(os.Args[1])
	if err != nil {
		return err
	}
	var srcs []Source
	for _, arg := range os.Args[2:] {
		sum, url, _ := strings.Cut(arg, " ")
		srcs = append(srcs, Source{Name: "demo-1-0", SHA256: sum, URL: url, Format: FormatConda})
	}
	if os.Getenv("CACHE_TEST_CHILD") == "single" {
		for _, src := range srcs {
			if _, _, err := s.Ensure(context.Background(), quick(FetchOptions{}), src, plain("/placeholder"), nil); err != nil {
				return err
			}
		}
		return nil
	}
	var fetched atomic.Int32
	_, err = s.EnsureAll(context.Background(), quick(FetchOptions{}), srcs, plain("/placeholder"),
		EnsureOptions{Done: func(_ int, f bool) {
			if f {
				fetched.Add(1)
			}
		}})
	if err == nil {
		fmt.Println(fetched.Load())
	}
	return err
}

func childCommand(t testing.TB, s *Store, srcs []Source, mode string) (*exec.Cmd, *bytes.Buffer) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{s.root}
	for _, src := range srcs {
		args = append(args, src.SHA256+" "+src.URL)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "CACHE_TEST_CHILD="+mode)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// packages makes n packages that share some files, and a server for them that
// counts whole downloads.
func packages(t testing.TB, n int, pause time.Duration) ([]Source, *atomic.Int32) {
	data := map[string][]byte{}
	var srcs []Source
	for i := range n {
		var members []member
		for j := range 60 {
			members = append(members, member{name: fmt.Sprintf("f%d", j), body: fmt.Sprintf("%d of %d /placeholder/x", j, i*(j%2))})
		}
		members = append(members, member{name: "big", body: string(noise(2<<20 + i))})
		path := fmt.Sprintf("/p%d", i)
		data[path] = makeConda(t, members...)
		srcs = append(srcs, sourceOf(data[path], FormatConda, path))
	}
	var hits atomic.Int32
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		time.Sleep(pause)
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data[r.URL.Path]))
	}))
	for i := range srcs {
		srcs[i].URL = srv.URL + srcs[i].URL
	}
	return srcs, &hits
}

// mustBeValid checks all that a reader may rely on: every manifest decodes and
// every content it names is in the pool and right.
func mustBeValid(t testing.TB, s *Store) (manifests int) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(s.root, "pool/packages"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		m, err := s.Manifest(d.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Entries {
			if e.Type != EntryFile {
				continue
			}
			f, err := s.OpenEntry(e)
			if err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			n, err := io.Copy(h, f)
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			if n != e.Size || hex.EncodeToString(h.Sum(nil)) != e.SHA256 {
				t.Fatalf("%s: content of %s is wrong", d.Name(), e.Path)
			}
		}
	}
	return len(list)
}

// TestKilledAtAnyInstant kills a process that takes packages in, again and
// again. The store is valid each time, and the next run completes.
func TestKilledAtAnyInstant(t *testing.T) {
	srcs, _ := packages(t, 12, 0)
	// How long a whole run takes here and now tells when to kill.
	cmd, out := childCommand(t, newStore(t), srcs, "single")
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(start)

	s := newStore(t)
	const runs = 12
	midway := 0
	for i := range runs {
		mode := []string{"single", "batch"}[i%2]
		cmd, _ := childCommand(t, s, srcs, mode)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole / 4 * time.Duration(i+2) / runs)
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		killed := cmd.Wait() != nil
		if n := mustBeValid(t, s); killed && n < len(srcs) {
			midway++
		}
	}
	t.Logf("killed %d of %d runs midway; %d packages are there", midway, runs, mustBeValid(t, s))
	if midway < 3 {
		t.Error("the runs were too short to be killed midway")
	}
	if _, err := s.EnsureAll(context.Background(), quick(FetchOptions{}), srcs, plain("/placeholder"), EnsureOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := mustBeValid(t, s); n != len(srcs) {
		t.Errorf("%d packages are there, want %d", n, len(srcs))
	}
	if _, err := s.CleanTemp(0); err != nil {
		t.Fatal(err)
	}
	emptyDir(t, s, "tmp", "locks")
}

// TestTornPoolFileIsReplaced: after a power cut a pool file may hold anything.
// No manifest names it, so the next ingest looks at it and writes it anew.
func TestTornPoolFileIsReplaced(t *testing.T) {
	s := newStore(t)
	text := "the content"
	path := s.PoolPath(digestOf([]byte(text)), false)
	if err := s.MkdirAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, len(text)), 0o444); err != nil {
		t.Fatal(err)
	}
	mustIngest(t, s, makeConda(t, member{name: "a", body: text}), FormatConda)
	mustHold(t, path, []byte(text))
}

// TestOneWorksTheOthersWait: several processes want the same packages at once;
// each archive is downloaded once.
func TestOneWorksTheOthersWait(t *testing.T) {
	s := newStore(t)
	srcs, hits := packages(t, 4, 300*time.Millisecond)
	total := 0
	type run struct {
		cmd *exec.Cmd
		out *bytes.Buffer
	}
	var runs []run
	for i := range 3 {
		order := srcs
		if i == 1 { // the other way round, so that each waits for another
			order = []Source{srcs[3], srcs[2], srcs[1], srcs[0]}
		}
		cmd, out := childCommand(t, s, order, "batch")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run{cmd, out})
	}
	for _, r := range runs {
		if err := r.cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, r.out)
		}
		var n int
		if _, err := fmt.Sscan(r.out.String(), &n); err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if hits.Load() != 4 || total != 4 {
		t.Errorf("the server saw %d requests and the processes fetched %d, want 4", hits.Load(), total)
	}
	if n := mustBeValid(t, s); n != 4 {
		t.Errorf("%d packages are there", n)
	}
}

func TestEnsureInOneProcess(t *testing.T) {
	s := newStore(t)
	srcs, hits := packages(t, 1, 20*time.Millisecond)
	f := quick(FetchOptions{})
	var fetched atomic.Int32
	errs := make(chan error)
	for range 8 {
		go func() {
			m, got, err := s.Ensure(context.Background(), f, srcs[0], plain("/placeholder"), nil)
			if err == nil && len(m.Entries) != 61 {
				err = fmt.Errorf("%d entries", len(m.Entries))
			}
			if got {
				fetched.Add(1)
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if hits.Load() != 1 || fetched.Load() != 1 {
		t.Errorf("%d requests, %d fetched", hits.Load(), fetched.Load())
	}
}

// TestDamagedArchiveIsFetchedAgain: an archive that was kept, and then cut off.
func TestDamagedArchiveIsFetchedAgain(t *testing.T) {
	s := newStore(t)
	srcs, hits := packages(t, 1, 0)
	src := srcs[0]
	src.Size = 0 // so that the size does not give it away
	f := quick(FetchOptions{})
	path, _, err := s.Fetch(context.Background(), f, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	if _, fetched, err := s.Ensure(context.Background(), f, src, plain(""), nil); err != nil || !fetched {
		t.Errorf("fetched=%v, %v", fetched, err)
	}
	if hits.Load() != 2 {
		t.Errorf("%d requests", hits.Load())
	}
}

// TestManifestIsInvisibleBeforeCommit: a batch publishes all at its end.
func TestManifestIsInvisibleBeforeCommit(t *testing.T) {
	s := newStore(t)
	b := s.NewBatch()
	var sums []string
	for i := range 3 {
		data := makeConda(t, member{name: "a", body: fmt.Sprint(i)})
		st, err := s.Stage(context.Background(), writeFile(t, data), sourceOf(data, FormatConda, ""), plain(""))
		if err != nil {
			t.Fatal(err)
		}
		b.Add(st)
		sums = append(sums, st.Manifest.SHA256)
	}
	for _, sum := range sums {
		if _, err := s.Manifest(sum); !errors.Is(err, ErrNotFound) {
			t.Errorf("before: %v", err)
		}
	}
	if err := b.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, sum := range sums {
		if _, err := s.Manifest(sum); err != nil {
			t.Errorf("after: %v", err)
		}
	}
}

// TestEnsureAllKeepsWhatWasComplete: one package fails, the others stay.
func TestEnsureAllKeepsWhatWasComplete(t *testing.T) {
	s := newStore(t)
	srcs, _ := packages(t, 3, 0)
	bad := srcs[2]
	bad.SHA256 = strings.Repeat("0", 64)
	_, err := s.EnsureAll(context.Background(), quick(FetchOptions{}), []Source{srcs[0], srcs[1], bad}, plain(""), EnsureOptions{Workers: 1})
	if !errors.Is(err, ErrIntegrity) {
		t.Errorf("got %v", err)
	}
	if n := mustBeValid(t, s); n != 2 {
		t.Errorf("%d packages are there, want 2", n)
	}
	emptyDir(t, s, "tmp", "locks")
}

// TestEnsureAllTellsWhatItDoes: progress, waiting for somebody else, and the end.
func TestEnsureAllTellsWhatItDoes(t *testing.T) {
	s := newStore(t)
	srcs, _ := packages(t, 1, 0)
	release, err := s.Lock(context.Background(), packageLock(srcs[0]), nil)
	if err != nil {
		t.Fatal(err)
	}
	var waited, bytes, ready atomic.Int64
	_, err = s.EnsureAll(context.Background(), quick(FetchOptions{}), srcs, plain(""), EnsureOptions{
		Waiting: func(int) {
			waited.Add(1)
			if err := release(); err != nil {
				t.Error(err)
			}
		},
		Progress: func(_ int, done, total int64) {
			bytes.Store(done)
			if total != srcs[0].Size {
				t.Errorf("total is %d", total)
			}
		},
		Done: func(_ int, fetched bool) {
			if fetched {
				ready.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if waited.Load() != 1 || bytes.Load() != srcs[0].Size || ready.Load() != 1 {
		t.Errorf("waited %d times, %d bytes, %d ready", waited.Load(), bytes.Load(), ready.Load())
	}
}

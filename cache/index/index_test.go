package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache/index"
)

var day = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func open(t testing.TB, path string) *index.Index {
	t.Helper()
	x, err := index.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func env(n, group int, packages ...string) index.Environment {
	e := index.Environment{
		ID: fmt.Sprintf("%032x", n), Platform: "linux-64", Group: group, Name: "default", LockDigest: strings.Repeat("ab", 32),
		Created: day.Add(time.Duration(n) * time.Hour), LastUse: day, Bytes: int64(n) * 10, Inodes: 2, Image: true, Described: "1", Summary: []byte("{}"),
	}
	for _, p := range packages {
		name, version, _ := strings.Cut(p, "=")
		e.Packages = append(e.Packages, index.Package{SHA256: fmt.Sprintf("%064x", len(p)*1000+int(p[0])), Name: name, Version: version, Build: "0"})
	}
	return e
}

func ids(envs []index.Environment) (out []string) {
	for _, e := range envs {
		out = append(out, strings.TrimLeft(e.ID, "0")+"/"+fmt.Sprint(e.Group))
	}
	return out
}

func TestEnvironments(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "i")
	x := open(t, path)
	if !x.Fresh {
		t.Error("a new index is not fresh")
	}
	a, b, c := env(1, index.Everybody, "numpy=1.26", "python=3.12"), env(0x1f, 100, "numpy=2.0"), env(3, 200, "numpy=1.26")
	if err := x.Put(ctx, a, b, c); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		q    index.Query
		want []string
	}{
		{index.Query{}, []string{"1f/100", "3/200", "1/-1"}},
		{index.Query{Groups: []int{}}, []string{"1/-1"}},
		{index.Query{Groups: []int{100}}, []string{"1f/100", "1/-1"}},
		{index.Query{ID: a.ID}, []string{"1/-1"}},
		{index.Query{ID: a.ID[:30]}, []string{"1f/100", "3/200", "1/-1"}},
		{index.Query{ID: strings.Repeat("0", 30) + "1f"}, []string{"1f/100"}},
		{index.Query{Lock: strings.Repeat("cd", 32)}, nil},
	} {
		got, err := x.Environments(ctx, q.q)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(q.want, ids(got)); d != "" {
			t.Errorf("%+v: %s", q.q, d)
		}
	}
	where, err := x.Where(ctx, index.Query{}, "numpy", "1.26")
	if err != nil || len(where) != 2 || len(where[0].Packages) != 1 || where[0].Packages[0].Version != "1.26" {
		t.Errorf("%v %v", where, err)
	}
	if where, err = x.Where(ctx, index.Query{Groups: []int{100}}, "numpy", ""); err != nil || cmp.Diff([]string{"1/-1", "1f/100"}, ids(where)) != "" {
		t.Errorf("%v %v", ids(where), err)
	}
	// What is put again replaces, and last use never goes back.
	if err := x.Used(ctx, day.Add(time.Hour), a.ID); err != nil {
		t.Fatal(err)
	}
	a.Packages, a.Bytes = a.Packages[1:], 7
	if err := x.Put(ctx, a); err != nil {
		t.Fatal(err)
	}
	got, err := x.Environments(ctx, index.Query{ID: a.ID})
	if err != nil || got[0].Bytes != 7 || !got[0].LastUse.Equal(day.Add(time.Hour)) {
		t.Errorf("%+v %v", got, err)
	}
	if pkgs, err := x.PackagesOf(ctx, a.Key()); err != nil || len(pkgs) != 1 || pkgs[0].Name != "python" {
		t.Errorf("%v %v", pkgs, err)
	}
	if sum, err := x.Totals(ctx, index.Query{}); err != nil || sum != (index.Totals{Environments: 3, Bytes: 7 + 310 + 30, Inodes: 6}) {
		t.Errorf("%+v %v", sum, err)
	}
	if err := x.Remove(ctx, a.Key(), index.Key{ID: "none"}); err != nil {
		t.Fatal(err)
	}
	if where, err = x.Where(ctx, index.Query{}, "python", ""); err != nil || len(where) != 0 {
		t.Errorf("%v %v", where, err)
	}
	if err := x.Check(ctx); err != nil {
		t.Error(err)
	}
}

func TestRequests(t *testing.T) {
	ctx := t.Context()
	x := open(t, filepath.Join(t.TempDir(), "i"))
	want := []index.Request{
		{At: day.Add(2 * time.Hour), UID: 2, GID: 2, Lock: "b", Environments: []string{"default", "cpu"}, Outcome: "no room"},
		{At: day.Add(time.Hour), UID: 1, GID: 1, Lock: "a", Seconds: 1.5, PackagesNew: 3, Bytes: 9, Outcome: "done"},
	}
	for _, r := range want {
		if err := x.Asked(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := x.Requests(ctx, index.RequestQuery{})
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	one := 1
	for _, q := range []index.RequestQuery{{UID: &one}, {Lock: "a"}} {
		if got, err := x.Requests(ctx, q); err != nil || len(got) != 1 || got[0].UID != 1 {
			t.Errorf("%v %v", got, err)
		}
	}
	if n, err := x.Forget(ctx, day.Add(90*time.Minute)); err != nil || n != 1 {
		t.Errorf("%d %v", n, err)
	}
}

// TestReopen: what was committed is there; whether it was compared with the store, too.
func TestReopen(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a b?c=#%")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(path, "index.db")
	x, err := index.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := x.Reconciled(ctx); err != nil || !at.IsZero() {
		t.Errorf("%v %v", at, err)
	}
	if err := errors.Join(x.Put(ctx, env(1, index.Everybody)), x.SetReconciled(ctx, day), x.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("it lies elsewhere: %v", err)
	}
	x = open(t, path)
	at, err := x.Reconciled(ctx)
	if err != nil || !at.Equal(day) || x.Fresh {
		t.Errorf("%v %v %v", at, err, x.Fresh)
	}
	if err := x.SetReconciled(ctx, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if at, err := x.Reconciled(ctx); err != nil || !at.IsZero() {
		t.Errorf("%v %v", at, err)
	}
}

// TestDamaged: whatever was done to the file, it opens, or is of class ErrCorrupt and can
// be put aside; it never answers from a torn page.
func TestDamaged(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	path := filepath.Join(dir, "i")
	x, err := index.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := x.Put(ctx, env(i, index.Everybody, fmt.Sprintf("p%d=1", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	damages := map[string]func([]byte) []byte{
		"not SQLite's": func([]byte) []byte { return []byte(strings.Repeat("nonsense", 1000)) },
		"half":         func(b []byte) []byte { return b[:len(b)/2] },
		"a page lost":  func(b []byte) []byte { clear(b[8192:12288]); return b },
	}
	for i := range 20 {
		damages[fmt.Sprintf("noise %d", i)] = func(b []byte) []byte {
			for range 64 {
				b[random.IntN(len(b))] = byte(random.Uint32())
			}
			return b
		}
	}
	for name, damage := range damages {
		if err := os.WriteFile(path, damage(append([]byte(nil), whole...)), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := index.Open(ctx, path)
		if err == nil {
			if !strings.HasPrefix(name, "noise") {
				t.Errorf("%s: it opens", name)
			}
			err = x.Check(ctx) // noise in free bytes and in texts is no damage of the file
			if cerr := x.Close(); cerr != nil && err == nil {
				t.Errorf("%s: %v", name, cerr)
			}
			if err == nil {
				continue
			}
		}
		if !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: %v is not of class ErrCorrupt", name, err)
			continue
		}
		aside, err := index.Aside(path, day)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(aside); err != nil {
			t.Error(err)
		}
		x, err = index.Open(ctx, path)
		if err != nil || !x.Fresh {
			t.Fatalf("%s: not made anew: %v", name, err)
		}
		if err := errors.Join(x.Close(), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewer: an older release leaves a newer one's file alone.
func TestNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "i")
	x, err := index.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.SetLayout(t.Context(), 99); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Open(t.Context(), path); !errors.Is(err, index.ErrNewer) || errors.Is(err, index.ErrCorrupt) || !strings.Contains(err.Error(), "next: ") {
		t.Errorf("%v", err)
	}
}

// TestConcurrent: many write and read at once.
func TestConcurrent(t *testing.T) {
	ctx := t.Context()
	x := open(t, filepath.Join(t.TempDir(), "i"))
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 20 {
				if err := x.Put(ctx, env(w*100+i, index.Everybody, "numpy=1")); err != nil {
					t.Error(err)
				}
				if _, err := x.Where(ctx, index.Query{}, "numpy", "1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if sum, err := x.Totals(ctx, index.Query{}); err != nil || sum.Environments != 160 {
		t.Errorf("%+v %v", sum, err)
	}
}

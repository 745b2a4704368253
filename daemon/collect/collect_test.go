package collect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/cache/index"
	"github.com/hpcenv/hpcenv/daemon/collect"
	"github.com/hpcenv/hpcenv/daemon/leases"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func id(n int) string { return fmt.Sprintf("%032x", n) }

func env(n int, idle time.Duration, bytes, inodes int64) index.Environment {
	return index.Environment{ID: id(n), Platform: "linux-64", Group: index.Everybody, Name: "default", LockDigest: "ab", Created: now.Add(-idle), LastUse: now.Add(-idle), Bytes: bytes, Inodes: inodes, Image: true, Summary: []byte("{}")}
}

func going(p *collect.Plan) (out string) {
	for _, i := range p.Items {
		out += strings.TrimLeft(i.ID, "0") + " "
	}
	return strings.TrimSpace(out)
}

const day = 24 * time.Hour

func TestPlan(t *testing.T) {
	envs := []index.Environment{env(1, day, 400, 4), env(2, 10*day, 400, 4), env(3, 20*day, 100, 4), env(4, 100*day, 50, 4), env(5, 200*day, 50, 4)}
	held := &leases.Held{IDs: map[string][]leases.Reason{id(5): {{Kind: leases.KindJob, Text: "job 7"}, {Text: "named x"}}}}
	for _, c := range []struct {
		policy collect.Policy
		want   string
		over   bool
	}{
		{collect.Policy{}, "", false},
		{collect.Policy{UnusedAfter: 50 * day}, "4", false},
		{collect.Policy{MaxBytes: 2000}, "", false},
		{collect.Policy{MaxBytes: 1000}, "", false},
		{collect.Policy{MaxBytes: 900}, "4 2", false}, // 4: 100 days × 50, 2: 10 × 400; then 550
		{collect.Policy{MaxBytes: 900, KeepUsed: 15 * day}, "4 3", false},
		{collect.Policy{MaxBytes: 600}, "4 2 3", false}, // 450 is left, the low mark is 540
		{collect.Policy{MaxBytes: 40}, "4 2 3 1", true}, // what job 7 needs takes 50
		{collect.Policy{MaxInodes: 12}, "4 3 2", false},
		{collect.Policy{MaxBytes: 900, UnusedAfter: 15 * day}, "4 3", false}, // 850 is below the low mark? no: 900×0.9
	} {
		p := collect.NewPlan(envs, held, c.policy, now)
		if c.policy.MaxBytes == 900 && c.policy.UnusedAfter > 0 {
			// The budget is met once what is too old is gone: nothing more has to go.
			if p.BytesLeft != 850 {
				t.Errorf("%+v: %d left", c.policy, p.BytesLeft)
			}
		}
		if got := going(p); got != c.want || (p.Over != "") != c.over {
			t.Errorf("%+v: %s go, want %s; over %q", c.policy, got, c.want, p.Over)
		}
		if len(p.Items)+len(p.Kept) != len(envs) {
			t.Errorf("%+v: an environment is neither kept nor removed", c.policy)
		}
		for _, k := range p.Kept {
			if k.Why == "" || k.ID == id(5) && k.Why != "job 7 and 1 more" {
				t.Errorf("%+v: %s is kept for %q", c.policy, k.ID, k.Why)
			}
		}
	}
}

// TestPlanProperties: whatever there is, what is held or was used lately stays; nothing
// goes below the mark but what is too old; and nothing stays above it that may go.
func TestPlanProperties(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 2))
		var envs []index.Environment
		held := &leases.Held{IDs: map[string][]leases.Reason{}}
		for n := range random.IntN(30) {
			envs = append(envs, env(n, time.Duration(random.IntN(100*24))*time.Hour, random.Int64N(1000), random.Int64N(50)))
			if random.IntN(4) == 0 {
				held.IDs[id(n)] = []leases.Reason{{Text: "job"}}
			}
		}
		p := collect.Policy{MaxBytes: random.Int64N(8000), MaxInodes: random.Int64N(400), KeepUsed: time.Duration(random.IntN(40)) * day, UnusedAfter: time.Duration(random.IntN(100)) * day}
		plan := collect.NewPlan(envs, held, p, now)
		if again := collect.NewPlan(envs, held, p, now); going(again) != going(plan) {
			t.Fatalf("seed %d: two plans of one input", seed)
		}
		left := plan.Bytes
		for _, i := range plan.Items {
			if held.IDs[i.ID] != nil || now.Sub(i.LastUse) < p.KeepUsed {
				t.Fatalf("seed %d: %s goes", seed, i.ID)
			}
			tooOld := p.UnusedAfter > 0 && now.Sub(i.LastUse) > p.UnusedAfter
			below := (p.MaxBytes == 0 || float64(left) <= 0.9*float64(p.MaxBytes)) && p.MaxInodes == 0
			if below && !tooOld {
				t.Fatalf("seed %d: %s goes though the store is within its budget", seed, i.ID)
			}
			left -= i.Bytes
		}
		if left != plan.BytesLeft {
			t.Fatalf("seed %d: the sums differ", seed)
		}
		if plan.Over == "" {
			continue
		}
		for _, k := range plan.Kept {
			if held.IDs[k.ID] == nil && now.Sub(k.LastUse) >= p.KeepUsed {
				t.Fatalf("seed %d: over budget, and %s stays (%s)", seed, k.ID, k.Why)
			}
		}
	}
}

// needs is what jobs need.
type needs struct {
	held map[string]bool
	err  error
	// before is called before each look.
	before func()
}

func (n *needs) Held(context.Context) (*leases.Held, error) { return n.HeldAsKnown() }
func (n *needs) TakeInbox(context.Context) error {
	if n.before != nil {
		n.before()
	}
	return n.err
}

func (n *needs) HeldAsKnown() (*leases.Held, error) {
	h := &leases.Held{IDs: map[string][]leases.Reason{}}
	for id := range n.held {
		h.IDs[id] = []leases.Reason{{Text: "job 1"}}
	}
	return h, n.err
}

// site is a store with three environments, the index of it, and a collector.
func site(t *testing.T, n *needs, p collect.Policy) (*cache.Store, *index.Index, *collect.Collector) {
	t.Helper()
	dir := t.TempDir()
	s, err := cache.Create(filepath.Join(dir, "store"), cache.Format{Version: cache.FormatVersion, PrefixRoot: "/opt/x/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(t.Context(), filepath.Join(dir, "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := 1; i < 4; i++ {
		for _, path := range []string{s.ImagePath("linux-64", id(i)), s.MetaPath(id(i), "linux-64"), s.NeedsPath(id(i), "linux-64")} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Put(t.Context(), env(i, time.Duration(i)*100*day, 100, 4)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := collect.New(collect.Options{Store: s, Index: x, Leases: n, Policy: p, Grace: day, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return s, x, c
}

func there(s *cache.Store, n int) bool {
	_, err := os.Lstat(s.ImagePath("linux-64", id(n)))
	return err == nil
}

func TestCollect(t *testing.T) {
	n := &needs{held: map[string]bool{id(3): true}}
	s, x, c := site(t, n, collect.Policy{UnusedAfter: 90 * day})
	if _, err := c.Collect(t.Context()); !errors.Is(err, collect.ErrNotNow) {
		t.Errorf("by an index that was never compared: %v", err)
	}
	if err := x.SetReconciled(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	n.err = leases.ErrUnknown
	if _, err := c.Collect(t.Context()); !errors.Is(err, collect.ErrNotNow) || !errors.Is(err, leases.ErrUnknown) || c.Status().Problem == "" {
		t.Errorf("though it is not known what jobs need: %v", err)
	}
	n.err = nil
	plan, err := c.Plan(t.Context())
	if err != nil || going(plan) != "2 1" {
		t.Fatalf("%s %v", going(plan), err)
	}
	// Between plan and execution: a job comes for one of them.
	n.held[id(2)] = true
	r, err := c.Run(t.Context(), plan)
	if err != nil || len(r.Removed) != 1 || r.Removed[0].ID != id(1) || len(r.Spared) != 1 || r.Spared[0].Why != "job 1" {
		t.Fatalf("%+v %v", r, err)
	}
	if there(s, 1) || !there(s, 2) || !there(s, 3) {
		t.Error("the wrong ones went")
	}
	if st := c.Status(); st.Removed != 1 || st.Bytes != 100 || st.Trash != 1 || st.Problem != "" {
		t.Errorf("%+v", st)
	}
	if envs, err := x.Environments(t.Context(), index.Query{}); err != nil || len(envs) != 2 {
		t.Errorf("the index knows %d, %v", len(envs), err)
	}
	// Brought back, whole, also by a daemon that was started since.
	again, err := collect.New(collect.Options{Store: s, Index: x, Leases: n, Grace: day, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := again.Restore(s, id(9), "linux-64"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if ok, err := again.Restore(s, id(1), "linux-64"); !ok || err != nil || !there(s, 1) {
		t.Errorf("%v %v", ok, err)
	}
	if data, err := os.ReadFile(s.MetaPath(id(1), "linux-64")); err != nil || string(data) != "{}" {
		t.Errorf("%q %v", data, err)
	}
	if ok, err := again.Restore(s, id(1), "linux-64"); ok || err != nil {
		t.Errorf("twice: %v %v", ok, err)
	}
}

// TestUsedMeanwhile: what a prepare found after the plan was made stays.
func TestUsedMeanwhile(t *testing.T) {
	n := &needs{}
	s, x, c := site(t, n, collect.Policy{UnusedAfter: 90 * day})
	if err := x.SetReconciled(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	plan, err := c.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Used(t.Context(), now, id(3)); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Run(t.Context(), plan); err != nil || len(r.Removed) != 2 || !there(s, 3) {
		t.Errorf("%+v %v", r, err)
	}
	if data, err := json.Marshal(c.Status()); err != nil || !strings.Contains(string(data), `"removed":2`) {
		t.Errorf("%s %v", data, err)
	}
}

// TestSweepPools: packages of environments stay, in each part its own; without a moment of
// rest nothing goes.
func TestSweepPools(t *testing.T) {
	n := &needs{}
	s, x, _ := site(t, n, collect.Policy{})
	wanted, unwanted := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	for _, sha := range []string{wanted, unwanted} {
		data, err := (&cache.Manifest{Version: 2, SHA256: sha, Format: cache.FormatConda}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.ManifestPath(sha), data, 0o444); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(s.ManifestPath(sha), now.Add(-48*time.Hour), now.Add(-48*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	e := env(1, day, 100, 4)
	e.Packages = []index.Package{{SHA256: wanted, Name: "a", Version: "1", Build: "0"}}
	if err := errors.Join(x.Put(t.Context(), e), x.SetReconciled(t.Context(), now)); err != nil {
		t.Fatal(err)
	}
	busy := errors.New("busy")
	rest := busy
	c, err := collect.New(collect.Options{Store: s, Index: x, Leases: n, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
		Alone: func(_ context.Context, _ time.Duration, do func() error) error {
			if rest != nil {
				return rest
			}
			return do()
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SweepPools(t.Context(), 0); !errors.Is(err, busy) {
		t.Errorf("%v", err)
	}
	rest = nil
	if swept, err := c.SweepPools(t.Context(), 0); err != nil || swept.Packages != 1 {
		t.Errorf("%+v %v", swept, err)
	}
	for sha, stays := range map[string]bool{wanted: true, unwanted: false} {
		if _, err := os.Stat(s.ManifestPath(sha)); stays != (err == nil) {
			t.Errorf("%.8s: %v", sha, err)
		}
	}
}

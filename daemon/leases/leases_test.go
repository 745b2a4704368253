package leases_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/leases"
	"github.com/hpcenv/hpcenv/hooks/handover"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// slurm is what slurmctld would say.
type slurm struct {
	jobs []queries.LiveJob
	err  error
}

func (s *slurm) Jobs(context.Context) ([]queries.LiveJob, error) { return slices.Clone(s.jobs), s.err }

// site is a store with its leases, a clock, and Slurm.
type site struct {
	t     *testing.T
	store *cache.Store
	slurm *slurm
	now   time.Time
	k     *leases.Keeper
}

func newSite(t *testing.T) *site {
	t.Helper()
	store, err := cache.Create(filepath.Join(t.TempDir(), "store"), cache.Format{Version: cache.FormatVersion, PrefixRoot: "/opt/x/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, store: store, slurm: &slurm{}, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	s.restart()
	return s
}

// restart is what a daemon knows that starts now.
func (s *site) restart() {
	s.t.Helper()
	k, err := leases.Open(leases.Options{Store: s.store, Slurm: s.slurm, Now: func() time.Time { return s.now }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		s.t.Fatal(err)
	}
	s.k = k
}

func id(n int) string { return fmt.Sprintf("%032x", n) }

func handed(t *testing.T, token, env int) *api.Handover {
	t.Helper()
	p := &pin.Pin{Lock: strings.Repeat("ab", 32), LockPath: "/p/pixi.lock", Token: id(token), Choice: pin.Choice{Environment: "default", ID: id(env), Platforms: []string{"linux-64"}}}
	wire, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return handover.Of(p, wire, "sbatch", "login1", "", false)
}

// held is what an environment is held for; an error of the keeper's comes back.
func (s *site) held(env int) ([]leases.Reason, error) {
	h, err := s.k.Held(s.t.Context())
	if err != nil {
		return nil, err
	}
	return h.IDs[id(env)], nil
}

func (s *site) must(env int, kind string) {
	s.t.Helper()
	got, err := s.held(env)
	if err != nil {
		s.t.Fatal(err)
	}
	if kind == "" && len(got) > 0 || kind != "" && (len(got) != 1 || got[0].Kind != kind) {
		s.t.Errorf("environment %d is held for %+v, want %q", env, got, kind)
	}
}

// TestLife of a lease: from the handover over its job to what is left of it.
func TestLife(t *testing.T) {
	s := newSite(t)
	if err := s.k.Take(t.Context(), handed(t, 1, 7), 1000, s.now); err != nil {
		t.Fatal(err)
	}
	s.must(7, leases.KindToken)
	s.must(8, "")
	s.restart()
	s.must(7, leases.KindToken)
	s.slurm.jobs = []queries.LiveJob{{ID: 40, UID: 1001, Submitted: s.now}, {ID: 41, UID: 1000, Submitted: s.now.Add(time.Second)}, {ID: 3, UID: 1000, Submitted: s.now.Add(-time.Hour)}}
	s.must(7, leases.KindJob)
	if r, err := s.k.OfJob(41); err != nil || r.Token != id(1) {
		t.Errorf("%+v %v", r, err)
	}
	for _, other := range []int{40, 3} {
		if _, err := s.k.OfJob(other); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("job %d: %v", other, err)
		}
	}
	// Days later, held, then requeued, which gives it another time of submission.
	s.now = s.now.Add(72 * time.Hour)
	s.must(7, leases.KindJob)
	s.slurm.jobs[1].Submitted = s.now
	s.restart()
	s.must(7, leases.KindJob)
	// slurmctld does not answer: nothing may be collected, and nothing ends.
	s.slurm.err = queries.ErrSlurm
	if _, err := s.held(7); !errors.Is(err, leases.ErrUnknown) {
		t.Errorf("%v", err)
	}
	if st := s.k.Status(); st.Problem == "" || st.Bound != 1 {
		t.Errorf("%+v", st)
	}
	s.slurm.err = nil
	s.must(7, leases.KindJob)
	// Forgotten.
	s.slurm.jobs = nil
	s.must(7, "")
	s.restart()
	s.must(7, "")
	list, err := s.k.List(t.Context(), nil, s.now.Add(-time.Hour))
	if err != nil || len(list) != 1 || list[0].Why == "" || list[0].LockPath != "/p/pixi.lock" {
		t.Errorf("%+v %v", list, err)
	}
	if r, err := s.k.OfJob(41); err != nil || r.Ended.IsZero() {
		t.Errorf("what ended is not told: %+v %v", r, err)
	}
	// The same handed over again, late: it stays ended.
	if err := s.k.Take(t.Context(), handed(t, 1, 7), 1000, s.now); err != nil {
		t.Fatal(err)
	}
	s.must(7, "")
	left, err := os.ReadDir(filepath.Join(s.store.Root(), "pins"))
	if err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

// TestNoJob: a submission that slurmctld refused ends with its window, not before.
func TestNoJob(t *testing.T) {
	s := newSite(t)
	if err := s.k.Take(t.Context(), handed(t, 1, 7), 1000, s.now); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		s.must(7, leases.KindToken)
		s.now = s.now.Add(5 * time.Minute)
	}
	s.now = s.now.Add(time.Minute)
	s.must(7, "")
}

func TestRelease(t *testing.T) {
	s := newSite(t)
	if err := s.k.Take(t.Context(), handed(t, 1, 7), 1000, s.now); err != nil {
		t.Fatal(err)
	}
	if err := s.k.Take(t.Context(), handed(t, 1, 7), 1001, s.now); !errors.Is(err, leases.ErrHandover) {
		t.Errorf("another user's token: %v", err)
	}
	if uid, err := s.k.Owner(id(1)); err != nil || uid != 1000 {
		t.Errorf("%d %v", uid, err)
	}
	if err := s.k.Release(id(1), "uid 1000"); err != nil {
		t.Fatal(err)
	}
	s.must(7, "")
	if err := s.k.Release(id(1), "uid 1000"); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestNames(t *testing.T) {
	s := newSite(t)
	n := handover.Name{Name: "climate/2026.11", Lock: strings.Repeat("ab", 32), Environments: map[string]string{"default": id(7)}, By: "uid 0"}
	if err := s.k.SetName(n); err != nil {
		t.Fatal(err)
	}
	s.must(7, leases.KindName)
	s.restart()
	if names, err := s.k.Names(); err != nil || len(names) != 1 || names[0].Name != n.Name || names[0].At.IsZero() {
		t.Errorf("%+v %v", names, err)
	}
	for _, bad := range []string{"", "../x", "a//b", "/a", "a/", ".hidden", "a/../b", "a b", "a\nb", "x.json", "a/b/c/d/e", strings.Repeat("x", 65), "-x", "@x", "a/.."} {
		n.Name = bad
		if err := s.k.SetName(n); !errors.Is(err, handover.ErrName) {
			t.Errorf("%q is a name: %v", bad, err)
		}
		if err := s.k.RemoveName(bad); !errors.Is(err, handover.ErrName) {
			t.Errorf("%q can be removed: %v", bad, err)
		}
	}
	// A name that cannot be read may hold anything.
	path := handover.NamePath(s.store.Root(), "climate/2026.11")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.held(7); !errors.Is(err, leases.ErrUnknown) {
		t.Errorf("%v", err)
	}
	if err := s.k.RemoveName("climate/2026.11"); err != nil {
		t.Fatal(err)
	}
	s.must(7, "")
}

// TestInbox: what lies there is taken for as little as it is.
func TestInbox(t *testing.T) {
	s := newSite(t)
	s.now = time.Now()
	inbox := filepath.Join(s.store.Root(), "inbox")
	put := func(name string, data []byte) string {
		path := filepath.Join(inbox, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	body := func(token, env int) []byte {
		data, err := json.Marshal(handed(t, token, env))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	// The outermost door: no daemon answers.
	if err := handover.Give(t.Context(), filepath.Join(inbox, "no-socket"), s.store.Root(), handed(t, 1, 7)); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "of-another")
	if err := os.WriteFile(outside, body(2, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	refused := []string{put("nonsense", []byte("{")), put("empty", nil), put("large", make([]byte, api.MaxHandover+1))}
	if err := os.Symlink(outside, filepath.Join(inbox, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, filepath.Join(inbox, "names")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(inbox, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(inbox, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	young := put(handover.Unfinished+"x", body(3, 9))
	mangled := handed(t, 4, 10)
	mangled.IDs = []string{"../../etc"}
	data, err := json.Marshal(mangled)
	if err != nil {
		t.Fatal(err)
	}
	put("mangled", data)
	// One whose time was set ahead counts from now.
	ahead := put("ahead.json", body(5, 11))
	if err := os.Chtimes(ahead, s.now.AddDate(1, 0, 0), s.now.AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.must(7, leases.KindToken)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a pipe in inbox/ stops the daemon")
	}
	for env := range 4 {
		s.must(8+env, map[int]string{11: leases.KindToken}[8+env])
	}
	for _, path := range append(refused, young) {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("removed while it is young: %v", err)
		}
	}
	// What is old and none goes; what it points at stays.
	s.now = s.now.Add(3 * time.Hour)
	s.slurm.jobs = nil
	s.must(7, "")
	s.must(11, "")
	left, err := os.ReadDir(inbox)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() != handover.Unfinished+"x" { // its age is the system clock's
			t.Errorf("left: %s", e.Name())
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("the daemon removed what a link pointed at: %v", err)
	}
}

// TestTorn: a line that a power cut left of the month's file does no harm to the next.
func TestTorn(t *testing.T) {
	s := newSite(t)
	for token := 1; token < 4; token++ {
		if err := s.k.Take(t.Context(), handed(t, token, token), 1000, s.now); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.k.Release(id(1), "a"); err != nil {
		t.Fatal(err)
	}
	ended, err := filepath.Glob(filepath.Join(s.store.Root(), "pins", "ended-*"))
	if err != nil || len(ended) != 1 {
		t.Fatal(ended, err)
	}
	f, err := os.OpenFile(ended[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"version":1,"tok`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.k.Release(id(2), "b"); err != nil {
		t.Fatal(err)
	}
	list, err := s.k.List(t.Context(), nil, s.now.Add(-time.Minute))
	if err != nil || len(list) != 3 || list[0].Token != id(3) {
		t.Errorf("%+v %v", list, err)
	}
	// A record that cannot be read may hold anything: the daemon does not start over it.
	if err := os.WriteFile(filepath.Join(s.store.Root(), "pins", id(9)+".json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = leases.Open(leases.Options{Store: s.store, Slurm: s.slurm})
	if !errors.Is(err, cache.ErrStore) || !strings.Contains(err.Error(), id(9)) {
		t.Errorf("%v", err)
	}
}

// TestNeverTooShort plays random clusters: users submit (sometimes while the daemon is
// down or slurmctld does not answer), jobs wait, are requeued, end and are forgotten. As
// long as slurmctld knows a job, its environment is held or nothing may be collected;
// and in the end nothing is held that nobody needs.
func TestNeverTooShort(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := newSite(t)
		type job struct {
			queries.LiveJob
			env   int
			ended time.Time
		}
		var jobs []*job
		var inbox []*api.Handover
		uidOf := map[*api.Handover]int{}
		atOf := map[*api.Handover]time.Time{}
		down := false
		tell := func() {
			s.slurm.jobs = nil
			for _, j := range jobs {
				s.slurm.jobs = append(s.slurm.jobs, j.LiveJob)
			}
		}
		start := func() {
			down = false
			s.restart()
			for _, h := range inbox {
				if err := s.k.Take(t.Context(), h, uidOf[h], atOf[h]); err != nil {
					t.Fatal(err)
				}
			}
			inbox = nil
		}
		for step := range 150 {
			s.now = s.now.Add(time.Duration(random.IntN(600)) * time.Second)
			switch random.IntN(8) {
			case 0, 1: // a submission, whose job comes up to a minute later by a clock that differs
				h, uid := handed(t, step+1, step+1), 1000+random.IntN(2)
				if down {
					inbox, uidOf[h], atOf[h] = append(inbox, h), uid, s.now
				} else if err := s.k.Take(t.Context(), h, uid, s.now); err != nil {
					t.Fatal(err)
				}
				clock := time.Duration(random.IntN(240)-120) * time.Second
				jobs = append(jobs, &job{env: step + 1, LiveJob: queries.LiveJob{ID: step + 1, UID: uid, Submitted: s.now.Add(clock + time.Duration(random.IntN(60))*time.Second).Truncate(time.Second)}})
			case 2: // a requeue
				if len(jobs) > 0 {
					if j := jobs[random.IntN(len(jobs))]; j.ended.IsZero() {
						j.Submitted = s.now.Truncate(time.Second)
					}
				}
			case 3: // an end
				if len(jobs) > 0 {
					if j := jobs[random.IntN(len(jobs))]; j.ended.IsZero() {
						j.ended = s.now
					}
				}
			case 4:
				if down {
					start()
				} else {
					down = true
				}
			case 5:
				s.slurm.err = nil
				if random.IntN(2) == 0 {
					s.slurm.err = queries.ErrSlurm
				}
			default:
				s.now = s.now.Add(time.Duration(random.IntN(8)) * time.Hour)
			}
			// slurmctld forgets.
			jobs = slices.DeleteFunc(jobs, func(j *job) bool { return !j.ended.IsZero() && s.now.Sub(j.ended) > 5*time.Minute })
			tell()
			if down {
				continue
			}
			h, err := s.k.Held(t.Context())
			if errors.Is(err, leases.ErrUnknown) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range jobs {
				if len(h.IDs[id(j.env)]) == 0 {
					t.Fatalf("seed %d, step %d: job %d lives and its environment is held by nothing", seed, step, j.ID)
				}
			}
		}
		s.slurm.err = nil
		if down {
			start()
		}
		jobs = nil
		tell()
		for range 3 {
			s.now = s.now.Add(time.Hour)
			if _, err := s.k.Held(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if h, err := s.k.Held(t.Context()); err != nil || len(h.IDs) > 0 {
			t.Errorf("seed %d: %v is held for nobody (%v)", seed, h.IDs, err)
		}
	}
}

// TestStep: what a step needs beside its job is held as long as the job, which was there
// before; nobody holds anything by another user's job.
func TestStep(t *testing.T) {
	s := newSite(t)
	s.slurm.jobs = []queries.LiveJob{{ID: 5, UID: 1000, Submitted: s.now.Add(-48 * time.Hour)}, {ID: 6, UID: 1001, Submitted: s.now.Add(-48 * time.Hour)}}
	for token, job := range []string{"5", "6"} {
		h := handed(t, token, token)
		h.Step, h.Job, h.Context = true, job, "srun"
		if err := s.k.Take(t.Context(), h, 1000, s.now); err != nil {
			t.Fatal(err)
		}
	}
	s.must(0, leases.KindJob)
	s.must(1, "")
	s.slurm.jobs = nil
	s.must(0, "")
	h := handed(t, 2, 2)
	h.Step, h.Job = true, "x"
	if err := s.k.Take(t.Context(), h, 1000, s.now); !errors.Is(err, leases.ErrHandover) {
		t.Errorf("%v", err)
	}
}

// TestInboxIsNotFilled: what one user leaves there in masses goes, and keeps nobody's
// handover from being taken in.
func TestInboxIsNotFilled(t *testing.T) {
	s := newSite(t)
	s.now = time.Now()
	inbox := filepath.Join(s.store.Root(), "inbox")
	for i := range 1500 {
		name := fmt.Sprintf("%sjunk%d", []string{"", handover.Unfinished}[i%2], i)
		if err := os.WriteFile(filepath.Join(inbox, name), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := handover.Give(t.Context(), "", s.store.Root(), handed(t, 1, 7)); err != nil {
		t.Fatal(err)
	}
	s.must(7, leases.KindToken)
	left, err := os.ReadDir(inbox)
	if err != nil || len(left) != 1000 {
		t.Errorf("%d are left, %v", len(left), err)
	}
}

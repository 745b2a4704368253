package health

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// cluster is Slurm's side of one node.
type cluster struct {
	drained bool
	reason  string
	fails   bool
	undrain int
}

func (c *cluster) Availability(context.Context, string) (queries.Availability, error) {
	if c.fails {
		return queries.Availability{}, errors.New("slurmctld is down")
	}
	state, reason := "IDLE", ""
	if c.drained {
		state = "IDLE+DRAIN"
	}
	if c.reason != "" {
		reason = " Reason=" + c.reason + " [root@2026-11-30T23:00:00]"
	}
	return queries.ParseAvailability([]byte("NodeName=n1 Arch=x86_64 State="+state+" Partitions=main CfgTRES=cpu=1"+reason+"\n"), "n1")
}

func (c *cluster) Drain(_ context.Context, _, reason string) error {
	if c.fails {
		return errors.New("slurmctld is down")
	}
	c.drained, c.reason = true, reason
	return nil
}

func (c *cluster) Undrain(context.Context, string) error {
	if c.fails {
		return errors.New("slurmctld is down")
	}
	c.undrain++
	c.drained, c.reason = false, ""
	return nil
}

func drainer(t *testing.T) (Drainer, *cluster, *time.Time) {
	c, now := new(cluster), time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	return Drainer{Node: "n1", RunDir: t.TempDir(), Slurm: c, Now: func() time.Time { return now }}, c, &now
}

func apply(t *testing.T, d Drainer, s State) string {
	t.Helper()
	said, err := d.Apply(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

var (
	sick    = State{gpu.Unhealthy, "GPU 3 is lost (NVML 15)"}
	well    = State{gpu.OK, "8 GPUs"}
	unknown = State{gpu.Unknown, "the driver hangs"}
)

func TestDrainAndBack(t *testing.T) {
	d, c, _ := drainer(t)
	apply(t, d, well)
	apply(t, d, unknown)
	if c.drained {
		t.Fatal("a node that is well, or not known to be sick, is drained")
	}
	apply(t, d, sick)
	if !c.drained || c.reason != "hpcenv: GPU 3 is lost (NVML 15)" {
		t.Fatalf("%+v", c)
	}
	for _, s := range []State{sick, unknown, well, sick, well, unknown, well} {
		apply(t, d, s)
		if !c.drained {
			t.Fatalf("%v: it takes jobs at the first good sign", s)
		}
	}
	apply(t, d, well)
	if c.drained {
		t.Fatal("it stays drained though it is well")
	}
}

// A node that comes and goes stays away after some times, until a day has passed.
func TestFlapping(t *testing.T) {
	d, c, now := drainer(t)
	for i := range maxDrains + 1 {
		apply(t, d, sick)
		apply(t, d, well)
		said := apply(t, d, well)
		if back := !c.drained; back != (i < maxDrains) {
			t.Fatalf("drain %d: %+v %q", i+1, c, said)
		}
		*now = now.Add(time.Hour)
	}
	*now = now.Add(drainWindow)
	apply(t, d, well)
	apply(t, d, well)
	if c.drained {
		t.Error("what was days ago counts")
	}
}

// Slurm that does not answer leaves nothing behind that would undrain another's drain.
func TestSlurmIsDown(t *testing.T) {
	d, c, _ := drainer(t)
	c.fails = true
	if _, err := d.Apply(t.Context(), sick); err == nil {
		t.Error("no error")
	}
	c.fails = false
	c.drained, c.reason = true, "disks"
	for range 3 {
		apply(t, d, well)
	}
	if !c.drained || c.undrain != 0 {
		t.Errorf("%+v", c)
	}
}

// Whatever happens: a drain of others, and one whose reason they changed, is never
// touched, and a reason of ours is always the last that we gave.
func TestOthersDrainsAreTheirs(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		d, c, now := drainer(t)
		var log []string
		for range 30 {
			*now = now.Add(time.Duration(r.IntN(600)) * time.Minute)
			theirs := c.drained && !strings.HasPrefix(c.reason, reasonPrefix)
			before := *c
			what := ""
			switch r.IntN(8) {
			case 0:
				what, c.drained, c.reason, theirs = "admin drains", true, "disks", false
			case 1:
				what, c.drained, c.reason, theirs = "admin resumes", false, "", false
			case 2:
				if c.drained {
					what, c.reason, theirs = "admin's reason", "RMA", false
				}
			case 3:
				what, c.fails = "slurmctld goes or comes", !c.fails
			default:
				s := []State{sick, sick, well, well, unknown}[r.IntN(5)]
				what = s.String()
				if _, err := d.Apply(t.Context(), s); err != nil && !c.fails {
					t.Fatal(seed, err)
				}
				if s.Level == gpu.Unhealthy && !c.fails && !c.drained {
					t.Fatalf("seed %d: a sick node takes jobs: %v", seed, log)
				}
				if !before.drained && c.drained && s.Level != gpu.Unhealthy {
					t.Fatalf("seed %d: drained for nothing: %v", seed, log)
				}
			}
			log = append(log, fmt.Sprintf("%s → %v %q", what, c.drained, c.reason))
			if theirs && (c.drained != before.drained || c.reason != before.reason) {
				t.Fatalf("seed %d: touched what is others': %s", seed, strings.Join(log, "\n"))
			}
		}
	}
}

func TestStateLine(t *testing.T) {
	for _, c := range []struct {
		record *gpu.Record
		want   string
	}{
		{nil, "OK: hpcenv: no GPUs"},
		{&gpu.Record{Verdict: gpu.Judge(gpu.Evidence{})}, "OK: hpcenv: no GPUs"},
		{&gpu.Record{Failure: "the GPU driver hangs: process 7 does not end; next: reboot", Verdict: gpu.Judge(gpu.Evidence{Failure: "the GPU driver hangs: process 7 does not end; next: reboot"})},
			"UNKNOWN: hpcenv: the GPU driver hangs: process 7 does not end"},
	} {
		if got := StateOf(c.record).String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	r := &Result{Facts: &facts.Facts{Networks: []facts.Network{{Kind: facts.InfiniBand, Device: "mlx5_0", Active: true}, {Kind: facts.InfiniBand, Device: "mlx5_1", Barred: facts.Missing}}}}
	if got := r.State().String(); got != "WARN: hpcenv: mlx5_1 (infiniband) is up and cannot be used: no device node" {
		t.Error(got)
	}
	four := &Result{Facts: &facts.Facts{Networks: []facts.Network{
		{Kind: facts.InfiniBand, Device: "mlx5_0", Barred: facts.Closed}, {Kind: facts.InfiniBand, Device: "mlx5_1", Barred: facts.Missing},
		{Kind: facts.InfiniBand, Device: "mlx5_2", Barred: facts.Closed}, {Kind: facts.InfiniBand, Device: "mlx5_3", Barred: facts.Closed}}}}
	if got := four.State().String(); got != "WARN: hpcenv: mlx5_0, mlx5_2, mlx5_3 (infiniband) are up and cannot be used: device node closed; mlx5_1 (infiniband) is up and cannot be used: no device node" {
		t.Error(got)
	}
	if got := oneLine("a\nb\t \"c\" " + strings.Repeat("x", 400)); strings.ContainsAny(got, "\n\t\"") || len(got) > maxReason+4 {
		t.Errorf("%q", got)
	}
}

package queries_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/slurm/queries"
)

func TestParseJobs(t *testing.T) {
	got, err := queries.ParseJobs([]byte("12|1000|1764550000|RUNNING\n12|1000|1764549000|PENDING\n\n7|0|1764540000|COMPLETED\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []queries.LiveJob{
		{ID: 12, UID: 1000, Submitted: time.Unix(1764549000, 0), State: "RUNNING"},
		{ID: 7, UID: 0, Submitted: time.Unix(1764540000, 0), State: "COMPLETED"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, err := queries.ParseJobs(nil); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"x", "1|2|3", "1|2|2026-12-01T00:00:00|R", "0|2|3|R", "-1|2|3|R", "1|joe|3|R", "1|2|N/A|R", "slurm_load_jobs error: Unable to contact"} {
		if _, err := queries.ParseJobs([]byte("5|1|1764540000|RUNNING\n" + bad + "\n")); !errors.Is(err, queries.ErrSlurm) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseJobs(f *testing.F) {
	f.Add([]byte("12|1000|1764550000|RUNNING\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		jobs, err := queries.ParseJobs(out)
		if err != nil {
			return
		}
		seen := map[int]bool{}
		for _, j := range jobs {
			if j.ID <= 0 || j.UID < 0 || seen[j.ID] {
				t.Errorf("%+v", j)
			}
			seen[j.ID] = true
		}
	})
}

// TestJobsAreAll: what may lack jobs is an error. The commands are scripts here; the real
// ones are asked in the stories.
func TestJobsAreAll(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: accounts that may see all are not told apart from this one")
	}
	dir := t.TempDir()
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := queries.Client{Scontrol: filepath.Join(dir, "scontrol")}
	script("squeue", `[ "$SLURM_TIME_FORMAT" = %s ] && echo "5|1|1764540000|RUNNING"`)
	script("scontrol", `echo "PrivateData = none"; echo "SlurmUser = slurm(64030)"`)
	if jobs, err := c.Jobs(t.Context()); err != nil || len(jobs) != 1 {
		t.Errorf("%v %v", jobs, err)
	}
	script("scontrol", `echo "SlurmUser = slurm(64030)"`)
	if _, err := c.Jobs(t.Context()); !errors.Is(err, queries.ErrSlurm) {
		t.Errorf("PrivateData is not told: %v", err)
	}
	script("scontrol", `echo "scontrol: error: no answer" >&2; exit 1`)
	if _, err := c.Jobs(t.Context()); !errors.Is(err, queries.ErrSlurm) {
		t.Errorf("no answer: %v", err)
	}
	script("scontrol", `echo "PrivateData = none"; echo "SlurmUser = slurm(64030)"`)
	script("squeue", `echo "5|1|1764540000|RUNNING"; exit 1`)
	if _, err := c.Jobs(t.Context()); !errors.Is(err, queries.ErrSlurm) {
		t.Errorf("squeue failed: %v", err)
	}
}

package queries

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJob(t *testing.T) {
	for name, c := range map[string]struct {
		out  string
		want Job
	}{
		"pending": {
			"JobId=7 JobName=a Partition=lie NodeList=lie UserId=u(1) GroupId=u(1) Priority=1 JobState=PENDING Partition=p,q AllocNode:Sid=h:1 ReqNodeList=n[1-2] ExcNodeList=n9 NodeList= NumNodes=1-1 Features=ib&h100 DelayBoot=00:00:00 Command=x NodeList=lie WorkDir=/",
			Job{ID: "7", User: "1", State: "PENDING", Partition: "p,q", Required: "n[1-2]", Excluded: "n9", Features: "ib&h100"},
		},
		"running": {
			"JobId=7 JobName=wrap UserId=u(1) JobState=RUNNING Partition=p AllocNode:Sid=h:1 ReqNodeList=(null) ExcNodeList=(null) NodeList=n3 BatchHost=n3 Features=(null) Command=(null)\n",
			Job{ID: "7", User: "1", State: "RUNNING", BatchHost: "n3", Partition: "p", Nodes: "n3"},
		},
	} {
		got, err := ParseJob([]byte(c.out))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if _, err := ParseJob([]byte("slurm_load_jobs error")); !errors.Is(err, ErrSlurm) {
		t.Error(err)
	}
	if _, err := (Client{Scontrol: "/bin/false"}).Job(context.Background(), "--all"); !errors.Is(err, ErrNoJob) {
		t.Errorf("an option as a number: %v", err)
	}
	if _, err := fake(t, "echo slurm_load_jobs error: Invalid job id specified >&2; exit 1").Job(context.Background(), "9"); !errors.Is(err, ErrNoJob) {
		t.Errorf("an unknown job: %v", err)
	}
	if _, err := fake(t, "echo slurm_load_jobs error: Unable to contact slurm controller >&2; exit 1").Job(context.Background(), "9"); errors.Is(err, ErrNoJob) || !errors.Is(err, ErrSlurm) {
		t.Errorf("no controller: %v", err)
	}
}

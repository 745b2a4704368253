package queries

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Job is where a job of Slurm runs, or may run.
type Job struct {
	// ID is its number: that of the element, for an element of an array.
	ID string `json:"id,omitempty"`
	// User is the numeric id of its owner; "" = not told.
	User string `json:"user,omitempty"`
	// State in Slurm's words: PENDING, RUNNING …
	State string `json:"state,omitempty"`
	// BatchHost is the node of its batch script, or its first one; "" = none yet.
	BatchHost string `json:"batch_host,omitempty"`
	// Nodes it has, as a hostlist; "" = none yet.
	Nodes string `json:"nodes,omitempty"`
	// What it asks for: partitions, nodes that it requires and does not want, features.
	Partition string `json:"partition"`
	Required  string `json:"required,omitempty"`
	Excluded  string `json:"excluded,omitempty"`
	Features  string `json:"features,omitempty"`
}

// jobID: a job, an element of an array, or a component of a heterogeneous job.
var jobID = regexp.MustCompile(`^[0-9]+([_+][0-9]+)?$`)

// ErrNoJob: Slurm knows no job with that number, or it is no number.
var ErrNoJob = errors.New("Slurm knows no job")

// unknownJob is what scontrol of every release prints of a job that slurmctld does not
// know, or has forgotten.
const unknownJob = "Invalid job id specified"

// Job asks for one job. An error is of class ErrNoJob if there is none.
func (c Client) Job(ctx context.Context, id string) (*Job, error) {
	if !jobID.MatchString(id) {
		return nil, fmt.Errorf("%w %q: it is no job's number", ErrNoJob, id)
	}
	out, err := c.scontrol(ctx, "show", "job", "--oneliner", id)
	var failed *failure
	if errors.As(err, &failed) && strings.HasSuffix(failed.said, unknownJob) {
		return nil, fmt.Errorf("%w %s", ErrNoJob, id)
	}
	if err != nil {
		return nil, err
	}
	return ParseJob(out)
}

// ParseJob reads the output of `scontrol show job --oneliner ID`; of an array or a
// heterogeneous job its first line.
func ParseJob(out []byte) (*Job, error) {
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	rest, ok := strings.CutPrefix(line, "JobId=")
	if !ok {
		return nil, fmt.Errorf("%w: scontrol show job starts with %.80q, not JobId=", ErrSlurm, line)
	}
	v := ordered(rest, jobFields)
	id, _, _ := strings.Cut(rest, " ")
	_, user, _ := strings.Cut(strings.TrimSuffix(v["UserId"], ")"), "(")
	return &Job{ID: id, User: user, State: v["JobState"], BatchHost: v["BatchHost"], Nodes: v["NodeList"], Partition: v["Partition"], Required: v["ReqNodeList"], Excluded: v["ExcNodeList"], Features: v["Features"]}, nil
}

// jobFields in the order in which every release prints them. The job's name is free
// text up to UserId; what follows Command is free text to the end.
var jobFields = form{
	wanted:   []string{"UserId", "JobState", "Partition", "ReqNodeList", "ExcNodeList", "NodeList", "BatchHost", "Features"},
	freeFrom: []string{"JobName"}, freeTo: []string{"UserId"},
	ends: []string{"Command", "Comment", "AdminComment", "SystemComment", "Extra", "WorkDir"},
}

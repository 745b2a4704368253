package queries

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"
)

// LiveJob is a job that slurmctld knows: waiting, running, suspended, or ended not longer
// than MinJobAge ago. Elements of an array are one job, under the array's number.
type LiveJob struct {
	// ID is its number, or its array's.
	ID int
	// UID of its owner.
	UID int
	// Submitted, to the second. A requeue sets it anew.
	Submitted time.Time
	// State in Slurm's words; of an array that of one of its elements.
	State string
}

// jobsFormat: the array's or job's number, owner, time of submission, state; what users
// write freely is not asked for.
const jobsFormat = "%F|%U|%V|%T"

// Jobs returns all jobs that slurmctld knows, of all users, in all partitions and
// states, each once. An answer that may lack jobs of others is an error of class
// ErrHidden: whoever removes what no job needs must not believe it.
func (c Client) Jobs(ctx context.Context) ([]LiveJob, error) {
	if err := c.seesAll(ctx); err != nil {
		return nil, err
	}
	// Seconds of the epoch: squeue's own form has no time zone.
	out, err := c.run(ctx, []string{"SLURM_TIME_FORMAT=%s"}, "squeue", "--all", "--states=all", "--noheader", "--format="+jobsFormat)
	if err != nil {
		return nil, err
	}
	return ParseJobs(out)
}

// ParseJobs reads squeue's output in the form that Jobs asks for.
func ParseJobs(out []byte) ([]LiveJob, error) {
	var jobs []LiveJob
	at := map[int]int{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	for line := 1; sc.Scan(); line++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" {
			continue
		}
		bad := func(err error) error {
			return fmt.Errorf("%w: squeue: line %d: %.80q is not of the form %s: %w", ErrSlurm, line, text, jobsFormat, err)
		}
		f := strings.Split(text, "|")
		if len(f) != 4 {
			return nil, bad(fmt.Errorf("%d fields", len(f)))
		}
		id, err := strconv.Atoi(f[0])
		if err != nil || id <= 0 {
			return nil, bad(errors.New("no job's number"))
		}
		uid, err := strconv.Atoi(f[1])
		if err != nil || uid < 0 {
			return nil, bad(errors.New("no user's number"))
		}
		seconds, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil || seconds <= 0 {
			return nil, bad(errors.New("no time of submission"))
		}
		j := LiveJob{ID: id, UID: uid, Submitted: time.Unix(seconds, 0), State: f[3]}
		i, again := at[id]
		switch {
		case !again:
			at[id] = len(jobs)
			jobs = append(jobs, j)
		case j.Submitted.Before(jobs[i].Submitted):
			// An element that was requeued has a later time than its array.
			jobs[i].Submitted = j.Submitted
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%w: squeue: %w", ErrSlurm, err)
	}
	return jobs, nil
}

// ErrHidden: slurmctld may not show this account the jobs of all users.
var ErrHidden = errors.New("jobs of other users may be hidden")

// seesAll proves that this process's account is shown all jobs: there is no
// PrivateData=jobs, or the account is root, SlurmUser, or an operator. Errors are of
// class ErrHidden, ErrNoSlurm or ErrSlurm.
func (c Client) seesAll(ctx context.Context) error {
	conf, err := c.Settings(ctx, "PrivateData", "SlurmUser")
	if err != nil {
		return err
	}
	private, told := conf["PrivateData"]
	if !told {
		return fmt.Errorf("%w: scontrol show config names no PrivateData", ErrSlurm)
	}
	if !hides(private) || os.Geteuid() == 0 {
		return nil
	}
	// SlurmUser = slurm(64030)
	name, number, _ := strings.Cut(strings.TrimSuffix(conf["SlurmUser"], ")"), "(")
	if number == strconv.Itoa(os.Geteuid()) {
		return nil
	}
	me, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return fmt.Errorf("%w: PrivateData=%s: %w", ErrHidden, private, err)
	}
	if me.Username == name {
		return nil
	}
	next := fmt.Sprintf("sacctmgr modify user %s set adminlevel=Operator (sacctmgr add user first, if it is not there)", me.Username)
	out, err := c.run(ctx, nil, "sacctmgr", "--noheader", "--parsable2", "show", "user", me.Username, "format=AdminLevel")
	if err != nil {
		return fmt.Errorf("%w: PrivateData=%s, and whether %s is an operator cannot be found out: %w; next: %s", ErrHidden, private, me.Username, err, next)
	}
	switch level := strings.TrimSpace(string(out)); level {
	case "Operator", "Administrator":
		return nil
	default:
		return fmt.Errorf("%w: PrivateData=%s, and %s has the level %q, not Operator; next: %s", ErrHidden, private, me.Username, level, next)
	}
}

// hides tells whether a value of PrivateData keeps users from seeing others' jobs.
func hides(private string) bool {
	for word := range strings.SplitSeq(private, ",") {
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "jobs", "all":
			return true
		}
	}
	return false
}

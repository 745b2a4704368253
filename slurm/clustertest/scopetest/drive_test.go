//go:build cluster

package scopetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/slurm/queries"
	"github.com/hpcenv/hpcenv/slurm/scope"
)

// plan is what the driver does.
type plan struct {
	Submissions []submission
	// Until so many were accepted; 0 = all.
	Until int
	// Enforced as the inventory would say.
	Enforced bool
}

// outcome of one submission.
type outcome struct {
	Submission submission
	// Refused is what Slurm said; "" = it was accepted.
	Refused string
	// Components of the job, in order.
	Components []component
}

// component of a job: what was answered, what is so.
type component struct {
	Scope *scope.Scope
	// Record is what scontrol shows of it.
	Record map[string]string
	// Truth are the nodes that it can get.
	Truth []string
}

// report is what the driver hands back.
type report struct {
	Cluster  scope.Cluster
	Outcomes []outcome
}

// driver runs submissions within the cluster.
type driver struct {
	dir     string
	cluster scope.Cluster
	client  queries.Client
	offers  offers
	n       int
}

// drive runs the plan in the file in and writes a report to the file out.
func drive(in, out string) error {
	var p plan
	if err := readJSON(in, &p); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(in), "drive")
	if err != nil {
		return err
	}
	d := &driver{dir: dir, offers: offers{}}
	ctx := context.Background()
	c := &d.cluster
	if c.Name, err = d.client.ClusterName(ctx); err == nil {
		c.Nodes, err = d.client.Nodes(ctx)
	}
	if err == nil {
		c.Partitions, err = d.client.Partitions(ctx)
	}
	if err == nil {
		c.Plugins, err = d.client.Plugins(ctx)
	}
	if err != nil {
		return err
	}
	c.Enforced = p.Enforced
	if err := writeJSON(filepath.Join(dir, "cluster.json"), c); err != nil {
		return err
	}
	var r report
	accepted := 0
	for _, s := range p.Submissions {
		o, err := d.submit(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		r.Outcomes = append(r.Outcomes, *o)
		if o.Refused == "" {
			accepted++
		}
		if p.Until > 0 && accepted == p.Until {
			break
		}
	}
	// Asking what nodes offer submits jobs: only once nothing else is being asked.
	if err := d.truths(ctx, &r); err != nil {
		return err
	}
	r.Cluster = d.cluster
	return writeJSON(out, r)
}

var submitted = regexp.MustCompile(`Submitted batch job (\d+)`)

func (d *driver) submit(ctx context.Context, s submission) (*outcome, error) {
	d.n++
	dir := filepath.Join(d.dir, fmt.Sprint(d.n))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"nodes": nodeFile, "job.sh": s.Script} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Args[0], s.Args[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(s.Stdin)
	cmd.Env = append(os.Environ(), probeDir+"="+dir, probeCluster+"="+filepath.Join(d.dir, "cluster.json"), probeNeeds+"="+s.Needs)
	cmd.Env = append(cmd.Env, s.Env...)
	cmd.WaitDelay = time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	o := &outcome{Submission: s}
	var id string
	if s.Args[0] == "sbatch" {
		if err := cmd.Run(); err != nil {
			o.Refused = output.String()
			return o, nil
		}
		m := submitted.FindStringSubmatch(output.String())
		if m == nil {
			return nil, fmt.Errorf("sbatch printed no job: %s", output.String())
		}
		id = m[1]
	} else {
		var err error
		if id, err = d.waiting(ctx, cmd); err != nil {
			return nil, err
		}
		if id == "" {
			o.Refused = output.String()
			return o, nil
		}
	}
	records, err := records(ctx, id)
	if err != nil {
		return nil, err
	}
	if cmd.ProcessState == nil {
		if err := end(cmd); err != nil {
			return nil, err
		}
	}
	for i, record := range records {
		c := component{Record: record}
		if err := readJSON(filepath.Join(dir, fmt.Sprintf("%d.json", i)), &c.Scope); err != nil {
			return nil, err
		}
		o.Components = append(o.Components, c)
	}
	return o, nil
}

var queued = regexp.MustCompile(`(?:job|allocation) (\d+) queued|Pending job allocation (\d+)`)

// waiting starts a salloc or srun, which waits for its job, and returns the job's
// number; "" = it was refused.
func (d *driver) waiting(ctx context.Context, cmd *exec.Cmd) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	all := cmd.Stderr.(*bytes.Buffer)
	cmd.Stdout, cmd.Stderr = w, w
	err = errors.Join(cmd.Start(), w.Close())
	if err != nil {
		return "", err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := r.SetReadDeadline(deadline); err != nil {
			return "", err
		}
	}
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		all.Write(buf[:n])
		if m := queued.FindStringSubmatch(all.String()); m != nil {
			return m[1] + m[2], nil
		}
		if err != nil {
			var exit *exec.ExitError
			if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
				return "", err
			}
			return "", nil
		}
	}
}

// end of a salloc or srun that waits.
func end(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		if err := cmd.Process.Kill(); err != nil {
			return err
		}
		<-done
	}
	return nil
}

// records of a job and its components, as scontrol shows them.
func records(ctx context.Context, id string) ([]map[string]string, error) {
	out, err := exec.CommandContext(ctx, "scontrol", "show", "job", "--oneliner", id).Output()
	if err != nil {
		return nil, fmt.Errorf("scontrol show job %s: %w: %s", id, err, out)
	}
	var all []map[string]string
	for line := range strings.Lines(string(out)) {
		record := map[string]string{}
		for _, word := range strings.Fields(line) {
			if key, value, ok := strings.Cut(word, "="); ok && record[key] == "" && value != "(null)" {
				record[key] = value
			}
		}
		if record["JobId"] != "" {
			all = append(all, record)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("scontrol show job %s shows nothing: %s", id, out)
	}
	return all, nil
}

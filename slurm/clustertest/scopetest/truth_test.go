//go:build cluster

package scopetest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// offers are what nodes offer, as slurmctld says: option → node → accepted.
type offers map[string]map[string]bool

// truths finds out for each component which nodes it can get.
func (d *driver) truths(ctx context.Context, r *report) error {
	for i := range r.Outcomes {
		for k := range r.Outcomes[i].Components {
			c := &r.Outcomes[i].Components[k]
			var err error
			if c.Truth, err = d.truth(ctx, c.Record); err != nil {
				return fmt.Errorf("%s: %w", r.Outcomes[i].Submission, err)
			}
		}
	}
	return nil
}

// truth are the nodes of the partitions that have the features and GRES, without
// those excluded; or the nodes that are required, if it gets no others.
func (d *driver) truth(ctx context.Context, record map[string]string) ([]string, error) {
	required, err := hostlist.Expand(record["ReqNodeList"])
	if err != nil {
		return nil, err
	}
	excluded, err := hostlist.Expand(record["ExcNodeList"])
	if err != nil {
		return nil, err
	}
	tests, err := d.tests(ctx, record)
	if err != nil {
		return nil, err
	}
	least, most, err := numbers(record)
	if err != nil {
		return nil, err
	}
	partitions := strings.Split(record["Partition"], ",")
	var nodes []string
	for _, p := range d.cluster.Partitions {
		if !slices.Contains(partitions, p.Name) {
			continue
		}
		names, err := hostlist.Expand(p.Nodes)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if !slices.Contains(excluded, n) && !slices.ContainsFunc(tests, func(may map[string]bool) bool { return !may[n] }) {
				nodes = append(nodes, n)
			}
		}
	}
	if len(required) > 0 && most <= len(required) && least <= len(required) {
		// (Slurm takes jobs whose nodes are not in their partition.)
		nodes = slices.DeleteFunc(nodes, func(n string) bool { return !slices.Contains(required, n) })
	}
	slices.SortFunc(nodes, hostlist.Compare)
	return slices.Compact(nodes), nil
}

// numbers: the fewest nodes that the job must get, and the most that its tasks can
// make use of. Slurm shows no bound where --nodes gives none; then tasks bound.
func numbers(record map[string]string) (least, most int, err error) {
	low, high, ranged := strings.Cut(record["NumNodes"], "-")
	if least, err = strconv.Atoi(low); err != nil {
		return 0, 0, err
	}
	tasks := least
	if n := record["NumTasks"]; n != "N/A" {
		if tasks, err = strconv.Atoi(n); err != nil {
			return 0, 0, err
		}
	}
	if ranged {
		most, err = strconv.Atoi(high)
		return least, most, err
	}
	if record["TresPerJob"] != "" {
		return least, 1 << 20, nil
	}
	return least, max(tasks, least), nil
}

var single = regexp.MustCompile(`^(\w+)\*(\d+)$`)

// gres of the generator: which nodes have it. slurmctld cannot be asked: it takes
// nodes that never registered for having any.
var gres = map[string]map[string]bool{}

func init() {
	for text, list := range map[string]string{
		"gpu": "g[01-06],arm[01-02]", "gpu:1": "g[01-06],arm[01-02]", "gpu:2": "g[01-06]", "gpu:3": "g[01-04]",
		"gpu:a100": "g[01-04]", "gpu:a100:1": "g[01-04]", "gpu:a100:2": "g[01-04]", "gpu:h100:2": "g[05-06]",
	} {
		names, err := hostlist.Expand(list)
		if err != nil {
			panic(err)
		}
		gres[text] = map[string]bool{}
		for _, n := range names {
			gres[text][n] = true
		}
	}
}

// tests are what a node must be accepted for.
func (d *driver) tests(ctx context.Context, record map[string]string) ([]map[string]bool, error) {
	var out []map[string]bool
	add := func(option string) error {
		may, err := d.accepted(ctx, option)
		if err == nil {
			out = append(out, may)
		}
		return err
	}
	if features := record["Features"]; features != "" {
		_, most, err := numbers(record)
		if err != nil {
			return nil, err
		}
		m := single.FindStringSubmatch(features)
		switch {
		case m != nil && m[2] >= strconv.Itoa(most):
			features = m[1]
		case strings.Contains(features, "*"):
			features = "" // it binds some nodes only
		}
		if features != "" {
			if err := add("--constraint=" + features); err != nil {
				return nil, err
			}
			// While preferred features are tried, the others are not looked at.
			if prefer := record["Prefer"]; prefer != "" {
				more, err := d.accepted(ctx, "--constraint="+prefer)
				if err != nil {
					return nil, err
				}
				both := map[string]bool{}
				for n, ok := range out[len(out)-1] {
					both[n] = ok || more[n]
				}
				out[len(out)-1] = both
			}
		}
	}
	for _, key := range []string{"TresPerNode", "TresPerTask", "TresPerJob"} {
		for item := range strings.SplitSeq(record[key], ",") {
			item = strings.TrimPrefix(strings.TrimPrefix(item, "gres:"), "gres/")
			if !strings.HasPrefix(item, "gpu") {
				continue
			}
			if key == "TresPerJob" {
				item = regexp.MustCompile(`:\d+$`).ReplaceAllString(item, "")
			}
			nodes, known := gres[item]
			if !known {
				return nil, fmt.Errorf("the test does not know what %s=%s means", key, item)
			}
			out = append(out, nodes)
		}
	}
	return out, nil
}

// accepted asks for each node whether a job that requires it is accepted with an
// option.
func (d *driver) accepted(ctx context.Context, option string) (map[string]bool, error) {
	if may, ok := d.offers[option]; ok {
		return may, nil
	}
	may := map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for _, n := range d.cluster.Nodes {
		wg.Go(func() {
			cmd := exec.CommandContext(ctx, "sbatch", "--partition=all", "--nodelist="+n.Name, "--nodes=1", option, "--wrap=true")
			cmd.Dir = d.dir
			text, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			mu.Lock()
			defer mu.Unlock()
			may[n.Name] = err == nil
			if err != nil && (!errors.As(err, &exit) || !strings.Contains(string(text), "configuration is not available")) {
				failed = fmt.Errorf("asking for %s on %s: %w: %s", option, n.Name, err, text)
			}
		})
	}
	wg.Wait()
	d.offers[option] = may
	return may, failed
}

package scope

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// Cluster is what is known of the cluster that is submitted to.
type Cluster struct {
	// Name is ClusterName; "" = not known, then a submission with --clusters can land
	// anywhere.
	Name string `json:"name"`
	// Nodes with their features, GRES and partitions.
	Nodes      []queries.Node      `json:"nodes"`
	Partitions []queries.Partition `json:"partitions"`
	// Plugins that may change what a submission asks for.
	Plugins queries.Plugins `json:"plugins"`
	// Enforced: slurmctld runs contrib/slurm/job_submit.lua behind whatever else moves
	// jobs, so that the lua plugin cannot take a job out of its Scope.
	Enforced bool `json:"enforced,omitempty"`
	// Federated: jobs may start on a sibling cluster.
	Federated bool `json:"federated,omitempty"`
}

// Scope is where one component of a submission can land.
type Scope struct {
	// Nodes by name, sorted as people sort them; for Every all that are in a partition.
	// A node that is not listed cannot get the job, as far as the Cluster is right.
	Nodes []string `json:"nodes"`
	// All: it gets all of Nodes, not some of them.
	All bool `json:"all,omitempty"`
	// Every: it may be any node.
	Every bool `json:"every,omitempty"`
	// None: no node that is known here fits what was asked for, so that Slurm will refuse
	// it unless it knows better. Nodes are then those of Every.
	None bool `json:"none,omitempty"`
	// Exact: nothing had to be widened; partitions, features, GRES and lists of nodes
	// leave just these nodes.
	Exact bool `json:"exact"`
	// Why it is not exact, in words, each reason once.
	Why []string `json:"why,omitempty"`
	// Asked are the options that decided, as on a command line.
	Asked string `json:"asked,omitempty"`
	// GPUs: it asks for GPUs. GPUsUnknown: it may, in what could not be read.
	GPUs        bool `json:"gpus,omitempty"`
	GPUsUnknown bool `json:"gpus_unknown,omitempty"`
	// MultiNode: it may get more than one node.
	MultiNode bool `json:"multi_node,omitempty"`
	// OtherCluster: it may land on nodes of another cluster, which Nodes does not have.
	OtherCluster bool `json:"other_cluster,omitempty"`
	// Partitions into which the job could be moved without leaving Nodes, sorted; nil for
	// a step. Partition is the one that was asked for, "" = the default, and Constraint
	// the feature expression, as they were taken into account.
	Partitions []string `json:"partitions,omitempty"`
	Partition  string   `json:"partition,omitempty"`
	Constraint string   `json:"constraint,omitempty"`
}

// Of returns where a submission can land. It never fails: what cannot be found out
// makes the Scope wider. Only the script and files of nodes are read.
func Of(s Submission, c *Cluster) *Scope {
	reqs := requests(s)
	if s.Recorded != nil {
		// Of other components only the command line and the script tell.
		read := reqs
		reqs = slices.Clone(s.Recorded)
		for i := range reqs {
			reqs[i].values = maps.Clone(reqs[i].values)
			for _, r := range read {
				reqs[i].others = reqs[i].others || r.others
				reqs[i].also(r.elsewhere)
			}
		}
	}
	if slices.ContainsFunc(reqs, func(r request) bool { return !r.impossible }) {
		reqs = slices.DeleteFunc(reqs, func(r request) bool { return r.impossible })
	}
	var out *Scope
	for _, r := range reqs {
		e := &evaluation{sub: s, req: r, cluster: c}
		one := e.scope()
		if out == nil {
			out = one
			continue
		}
		out.join(one)
	}
	return out
}

// join widens a scope by another way to read the same submission.
func (s *Scope) join(o *Scope) {
	same := s.Constraint == o.Constraint && s.Partition == o.Partition
	if !slices.Equal(s.Nodes, o.Nodes) || !same {
		s.because("an option of a plugin that is not known here can be read in two ways")
	}
	s.All = s.All && o.All && slices.Equal(s.Nodes, o.Nodes)
	s.Nodes = sorted(append(s.Nodes, o.Nodes...))
	s.Every = s.Every || o.Every
	s.None = s.None && o.None
	s.GPUs, s.GPUsUnknown = s.GPUs && o.GPUs, s.GPUsUnknown || o.GPUsUnknown || s.GPUs != o.GPUs
	s.MultiNode = s.MultiNode || o.MultiNode
	s.OtherCluster = s.OtherCluster || o.OtherCluster
	s.Partitions = slices.DeleteFunc(s.Partitions, func(p string) bool { return !slices.Contains(o.Partitions, p) })
	if !same {
		s.Constraint, s.Partition, s.Partitions = "", "", nil
	}
	for _, w := range o.Why {
		s.because("%s", w)
	}
}

// because notes that the scope is wider than it had to be.
func (s *Scope) because(format string, args ...any) {
	s.Exact = false
	if why := fmt.Sprintf(format, args...); !slices.Contains(s.Why, why) {
		s.Why = append(s.Why, why)
	}
}

func sorted(names []string) []string {
	if !slices.IsSortedFunc(names, hostlist.Compare) {
		slices.SortFunc(names, hostlist.Compare)
	}
	return slices.Compact(names)
}

// evaluation of one request.
type evaluation struct {
	sub     Submission
	req     request
	cluster *Cluster
	out     Scope
	// fits are the tests that a node must pass beside being in a partition.
	fits []func(n *queries.Node) bool
}

func (e *evaluation) scope() *Scope {
	e.out = Scope{Exact: true, Asked: e.req.given(), Partition: e.req.values["partition"]}
	e.resources()
	sz := e.req.size()
	e.out.MultiNode = sz.most != 1 && (sz.spreads || sz.tasks > 1 || sz.most > 1)
	if e.step() {
		return &e.out
	}
	if e.plugins(); e.anywhere() {
		return e.every()
	}
	parts, ok := e.partitions()
	if !ok {
		return e.every()
	}
	e.constraint(sz)
	if e.req.unread != "" {
		e.out.because("%s", e.req.unread)
	}
	e.nodes(parts, sz)
	e.out.All = e.out.All && e.out.Exact
	return &e.out
}

// every makes the scope all nodes.
func (e *evaluation) every() *Scope {
	e.out.All = false
	e.out.Every, e.out.MultiNode = true, e.out.MultiNode || e.req.doubt != ""
	e.out.Nodes = nil
	for _, n := range e.cluster.Nodes {
		if len(n.Partitions) > 0 {
			e.out.Nodes = append(e.out.Nodes, n.Name)
		}
	}
	e.out.Nodes = sorted(e.out.Nodes)
	e.out.Partitions = nil
	for _, p := range e.cluster.Partitions {
		e.out.Partitions = append(e.out.Partitions, p.Name)
	}
	return &e.out
}

// anywhere tells that nothing at all narrows the job, and notes why.
func (e *evaluation) anywhere() bool {
	before := len(e.out.Why)
	if e.req.doubt != "" {
		e.out.because("the submission is not understood: %s", e.req.doubt)
	}
	if list, ok := e.req.values["clusters"]; ok && (e.cluster.Name == "" || !strings.EqualFold(list, e.cluster.Name)) {
		e.out.OtherCluster = true
		e.out.because("--clusters=%s: it may land on another cluster", list)
	}
	if _, ok := e.req.values["cluster-constraint"]; ok || e.cluster.Federated {
		e.out.OtherCluster = true
		e.out.because("the cluster is one of a federation: the job may land on another one")
	}
	if _, ok := e.req.values["no-allocate"]; ok {
		e.out.because("--no-allocate takes any node")
	}
	for _, plugin := range e.cluster.Plugins.JobSubmit {
		if moves(plugin) && !(e.cluster.Enforced && plugin == "lua") {
			e.out.because("slurmctld's job_submit plugin %s may change where the job lands", plugin)
		}
	}
	return len(e.out.Why) > before
}

// moves tells whether a job_submit plugin may change what a job asked for. Those that
// only fill in a partition are in fillsPartition.
func moves(plugin string) bool {
	switch plugin {
	case "throttle", "require_timelimit", "logging", "defaults", "pbs", "cray_aries":
		return false
	}
	return !fillsPartition(plugin)
}

func fillsPartition(plugin string) bool { return plugin == "all_partitions" || plugin == "partition" }

// plugins of sbatch, salloc and srun that may have changed the options.
func (e *evaluation) plugins() {
	for _, plugin := range e.cluster.Plugins.CliFilter {
		switch {
		case plugin == "syslog":
		case plugin == "user_defaults":
			if !e.req.recorded && e.req.unread == "" {
				e.req.unread = "the cli_filter plugin user_defaults may set options from ~/.slurm/defaults"
			}
		case plugin == "lua" && e.req.recorded:
		default:
			e.req.blame("the cli_filter plugin " + plugin + " may change its options")
		}
	}
}

// step answers for a step of an existing job: the nodes are its own.
func (e *evaluation) step() bool {
	id, ok := e.req.values["jobid"]
	if !ok || e.req.program != "srun" {
		return false
	}
	env := environ(e.sub.Env)
	if id == env["SLURM_JOB_ID"] {
		for name, list := range env {
			if name != "SLURM_JOB_NODELIST" && !strings.HasPrefix(name, "SLURM_JOB_NODELIST_HET_GROUP_") {
				continue
			}
			names, err := hostlist.Expand(list)
			if err != nil {
				e.out.because("%s is not understood", name)
			}
			e.out.Nodes = append(e.out.Nodes, names...)
		}
	}
	if e.out.Nodes = sorted(e.out.Nodes); len(e.out.Nodes) == 0 || !e.out.Exact {
		e.out.because("the nodes of job %s are not known here", id)
		e.every()
		e.out.MultiNode = true
		return true
	}
	e.out.MultiNode = e.out.MultiNode && len(e.out.Nodes) > 1
	return true
}

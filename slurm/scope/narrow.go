package scope

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/slurm/queries"
)

// partitions are the names of those the job can be in; false = it can be anywhere.
func (e *evaluation) partitions() (map[string]bool, bool) {
	list, given := e.req.values["partition"]
	if !given {
		switch {
		case e.req.unread != "":
			e.out.because("%s", e.req.unread)
			return nil, false
		case e.req.values["reservation"] != "":
			e.out.because("the partition is that of the reservation %s", e.req.values["reservation"])
			return nil, false
		case slices.ContainsFunc(e.cluster.Plugins.JobSubmit, fillsPartition):
			e.out.because("slurmctld's job_submit plugin chooses the partition")
			return nil, false
		}
	}
	known := map[string]*queries.Partition{}
	var todo []string
	for i := range e.cluster.Partitions {
		p := &e.cluster.Partitions[i]
		known[p.Name] = p
		if !given && p.Default {
			todo = append(todo, p.Name)
		}
	}
	if given {
		todo = strings.Split(list, ",")
	}
	if len(todo) == 0 {
		e.out.because("the cluster has no default partition that is known here")
		return nil, false
	}
	in := map[string]bool{}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		p := known[name]
		if p == nil {
			e.out.because("the partition %q is not known here", name)
			return nil, false
		}
		if in[name] {
			continue
		}
		in[name] = true
		// Where jobs go while it is down.
		if p.Alternate != "" {
			todo = append(todo, p.Alternate)
		}
	}
	return in, true
}

// constraint adds the test for features.
func (e *evaluation) constraint(sz size) {
	text, ok := e.req.values["constraint"]
	e.out.Constraint = text
	if !ok || text == "" {
		return
	}
	c, err := parseConstraint(text)
	switch {
	case err != nil:
		e.out.because("--constraint=%s: %v", text, err)
		return
	case !c.binds(sz.most):
		e.out.because("--constraint=%s binds a number of nodes, the others may be any", text)
		return
	}
	// While it tries the preferred features, slurmctld does not look at the others.
	matches := []matcher{c.match}
	for _, prefer := range e.preferred() {
		p, err := parseConstraint(prefer)
		if err != nil || !p.binds(sz.most) {
			e.out.because("--prefer=%s: nodes that are preferred need not have the features of --constraint", prefer)
			return
		}
		matches = append(matches, p.match)
	}
	if len(matches) == 1 && e.req.unread != "" {
		return
	}
	e.fits = append(e.fits, func(n *queries.Node) bool {
		return slices.ContainsFunc(matches, func(m matcher) bool { return m(n.Features) })
	})
}

// preferred are the values of --prefer that may take effect.
func (e *evaluation) preferred() []string {
	var all []string
	if own, ok := e.req.values["prefer"]; ok {
		all = append(all, own)
	}
	for _, set := range e.req.elsewhere {
		if set.option == "prefer" && !slices.Contains(all, set.value) {
			all = append(all, set.value)
			e.out.because("another component's --prefer=%s may take effect on this one", set.value)
		}
	}
	return all
}

// resources adds the tests for GRES, and finds out whether GPUs are asked for.
func (e *evaluation) resources() {
	e.out.GPUsUnknown = e.req.unread != "" || e.req.doubt != ""
	for _, o := range []struct{ option, name string }{
		{"gres", ""}, {"gpus-per-node", "gpu"}, {"gpus-per-task", "gpu"}, {"gpus-per-socket", "gpu"}, {"gpus", "gpu"},
	} {
		text, ok := e.req.values[o.option]
		if !ok {
			continue
		}
		demands, err := parseGres(text, o.name)
		if err != nil {
			e.out.because("--%s=%s: %v", o.option, text, err)
			e.out.GPUsUnknown = true
			continue
		}
		for i := range demands {
			e.out.GPUs = e.out.GPUs || isGPU(demands[i].name)
			if o.option == "gpus" {
				demands[i].count = 1 // a total: of each node at least one
			}
		}
		all := o.option != "gpus"
		// Many nodes, few kinds of GRES.
		known := map[string]bool{}
		e.fits = append(e.fits, func(n *queries.Node) bool {
			fits, ok := known[n.Gres]
			if !ok {
				fits = satisfies(n.Gres, demands, all)
				known[n.Gres] = fits
			}
			return fits
		})
	}
	for _, option := range []string{"ntasks-per-gpu", "ntasks-per-tres", "tres-per-task"} {
		if text, ok := e.req.values[option]; ok && (option != "tres-per-task" || strings.Contains(text, "gpu")) {
			e.out.GPUs = true
			e.out.because("--%s=%s does not narrow it", option, text)
		}
	}
	if e.out.GPUs {
		e.out.GPUsUnknown = false
	}
}

// satisfies tells whether a node's GRES have all of the demands, or one of them.
func satisfies(gres string, demands []demand, all bool) bool {
	has := func(d demand) bool { return d.has(gres) }
	if all || len(demands) == 0 {
		return !slices.ContainsFunc(demands, func(d demand) bool { return !has(d) })
	}
	return slices.ContainsFunc(demands, has)
}

// nodes puts the pieces together.
func (e *evaluation) nodes(parts map[string]bool, sz size) {
	drop := map[string]bool{}
	if e.req.others {
		e.out.because("what other components of the job require or exclude is not taken into account")
	}
	if text, ok := e.req.values["exclude"]; ok {
		names, err := e.sub.nodeNames(text)
		if err != nil {
			e.out.because("--exclude=%s: %v", text, err)
		}
		for _, n := range names {
			drop[n] = true
		}
	}
	passes := func(n *queries.Node) bool {
		return !drop[n.Name] && !slices.ContainsFunc(e.fits, func(fit func(*queries.Node) bool) bool { return !fit(n) })
	}
	in := make(map[string]bool, len(e.cluster.Nodes))
	for i := range e.cluster.Nodes {
		n := &e.cluster.Nodes[i]
		if slices.ContainsFunc(n.Partitions, func(p string) bool { return parts[p] }) && passes(n) {
			in[n.Name] = true
			e.out.Nodes = append(e.out.Nodes, n.Name)
		}
	}
	names := e.listed(sz)
	if names != nil {
		unfit := slices.ContainsFunc(names, func(n string) bool { return !in[n] })
		all := slices.Clone(names)
		if unfit {
			e.out.because("some of the nodes that are required do not fit %s", e.req.given())
		}
		// What is asked of the job as a whole further nodes may bring, which Slurm adds to
		// those that are required.
		_, whole := e.req.values["gpus"]
		if whole = whole && unfit; whole {
			for _, n := range e.out.Nodes {
				if !slices.Contains(all, n) {
					all = append(all, n)
				}
			}
		}
		e.out.Nodes, e.out.All = all, !whole
		clear(in)
		for _, n := range all {
			in[n] = true
		}
	}
	if len(in) == 0 {
		e.out.because("no node that is known here fits %s", e.req.given())
		e.out.None = true
		e.every()
		return
	}
	e.out.Nodes = sorted(e.out.Nodes)
	e.out.All = e.out.All || len(in) == 1
	e.out.MultiNode = e.out.MultiNode && len(in) > 1
	if names != nil {
		// It needs just these nodes, in whichever partition it is.
		passes = func(n *queries.Node) bool { return in[n.Name] }
	}
	e.movable(in, passes)
}

// movable finds the partitions all of whose nodes that pass are in the scope.
func (e *evaluation) movable(in map[string]bool, passes func(*queries.Node) bool) {
	outside, has := map[string]bool{}, map[string]bool{}
	for i := range e.cluster.Nodes {
		n := &e.cluster.Nodes[i]
		if !passes(n) {
			continue
		}
		within := in[n.Name]
		for _, p := range n.Partitions {
			if !within {
				outside[p] = true
			}
			has[p] = true
		}
	}
	e.out.Partitions = nil
	for _, p := range e.cluster.Partitions {
		if has[p.Name] && !outside[p.Name] && (p.Alternate == "" || has[p.Alternate] && !outside[p.Alternate]) {
			e.out.Partitions = append(e.out.Partitions, p.Name)
		}
	}
	slices.Sort(e.out.Partitions)
}

// listed are the nodes that the job requires by name, if it cannot get others; nil if
// it can.
func (e *evaluation) listed(sz size) []string {
	option, read := "nodefile", e.sub.nodeFile
	text, ok := e.req.values["nodefile"]
	if !ok {
		option, read = "nodelist", e.sub.nodeNames
		text, ok = e.req.values["nodelist"]
	}
	if !ok {
		if name, ok := environ(e.sub.Env)["SLURM_HOSTFILE"]; ok {
			e.out.because("SLURM_HOSTFILE=%s may require nodes", name)
		}
		return nil
	}
	names, err := read(text)
	if err != nil {
		e.out.because("--%s=%s: %v", option, text, err)
		return nil
	}
	names = sorted(names)
	if len(names) == 0 || !sz.within(len(names)) {
		e.out.MultiNode = e.out.MultiNode || len(names) > 1
		if len(names) > 0 && sz.least <= len(names) {
			e.out.because("whether the job gets others than --%s=%s depends on the release of Slurm", option, text)
		}
		return nil
	}
	if sz.given && sz.tasks < len(names) {
		e.out.because("--ntasks=%d leaves only some of --%s=%s", sz.tasks, option, text)
	}
	e.out.MultiNode = sz.most != 1 && (e.out.MultiNode || len(names) > 1)
	return names
}

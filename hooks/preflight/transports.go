package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// transport is what a module sends with.
type transport struct {
	family stack.Family
	// module is how its file's name begins, up to .so.
	module string
	// kinds of networks that it drives.
	kinds []string
	// names of what it offers, as UCX_TLS and the like have them.
	names []string
	// source of the statement.
	source string
}

// moduleTransports is which networks modules are for, as of 2026-11. What is built into
// a library has no module, and is not here.
var moduleTransports = []transport{
	{stack.UCX, "libuct_ib", []string{facts.InfiniBand, facts.RoCE, facts.Slingshot10}, []string{"rc_verbs", "ud_verbs"}, "openucx/ucx src/uct/ib"},
	{stack.UCX, "libuct_ib_mlx5", []string{facts.InfiniBand, facts.RoCE, facts.Slingshot10}, []string{"rc_mlx5", "dc_mlx5", "ud_mlx5"}, "openucx/ucx src/uct/ib/mlx5, a module of its own since 1.18"},
	{stack.UCX, "libuct_ib_efa", []string{facts.EFA}, []string{"srd"}, "openucx/ucx src/uct/ib/efa"},
	{stack.UCX, "libuct_rdmacm", nil, []string{"rdmacm"}, "openucx/ucx src/uct/ib/rdmacm: makes connections by addresses, sends no data"},
	{stack.UCX, "libuct_ugni", nil, []string{"ugni_rdma"}, "openucx/ucx src/uct/ugni"},
	{stack.Libfabric, "libverbs-fi", []string{facts.InfiniBand, facts.RoCE, facts.Slingshot10}, []string{"verbs"}, "ofiwg/libfabric prov/verbs"},
	{stack.Libfabric, "libefa-fi", []string{facts.EFA}, []string{"efa"}, "ofiwg/libfabric prov/efa"},
	{stack.Libfabric, "libcxi-fi", []string{facts.Slingshot11}, []string{"cxi"}, "ofiwg/libfabric prov/cxi"},
	{stack.Libfabric, "libpsm2-fi", []string{facts.OmniPath}, []string{"psm2"}, "ofiwg/libfabric prov/psm2"},
	{stack.Libfabric, "libopx-fi", []string{facts.OmniPath}, []string{"opx"}, "ofiwg/libfabric prov/opx"},
	{stack.Libfabric, "libpsm3-fi", []string{facts.RoCE}, []string{"psm3"}, "ofiwg/libfabric prov/psm3"},
}

// transportOf is what a module of that name sends with; nil = nothing.
func transportOf(file string) *transport {
	stem, _, _ := strings.Cut(path.Base(file), ".so")
	for i := range moduleTransports {
		if moduleTransports[i].module == stem {
			return &moduleTransports[i]
		}
	}
	return nil
}

// single: the step, or the job, is on this node alone, and its networks do not matter.
// Outside of jobs every node is taken for one of several.
func (in *Input) single() bool {
	_, job := in.lookup("SLURM_JOB_ID")
	return job && !in.MultiNode
}

// transports: the environment communicates over the node's fabric, not over TCP.
func transports(_ context.Context, in *Input) ([]Finding, error) {
	p, err := in.start()
	if p == nil || p.space == nil || err != nil {
		return nil, err
	}
	s := &in.Needs.Stack
	fabrics := in.fabrics()
	if s.Family == stack.None || len(fabrics) == 0 {
		return nil, nil
	}
	var out []Finding
	native := false
	for _, kind := range kindsOf(fabrics) {
		if slices.Contains(s.Networks, kind) {
			native = true
			out = append(out, in.over(p, kind, fabrics)...)
		}
	}
	if !native && !s.Wheel() {
		n := fabrics[0]
		out = append(out, in.network(Finding{ID: "fabric", Level: Warn, Act: User, Packages: packages(s.Package),
			Evidence: fmt.Sprintf("%s (%s) does not drive %s: it would run over TCP", s.Family, s.Package, describe(n)),
			Next:     "take an environment of the lock whose stack drives it (hpcenv plan shows which), or keep off such nodes"}))
	}
	return out, nil
}

// over is how the environment communicates over one kind of network that it is meant
// to drive.
func (in *Input) over(p *process, kind string, fabrics []facts.Network) []Finding {
	s := &in.Needs.Stack
	i := slices.IndexFunc(fabrics, func(n facts.Network) bool { return n.Kind == kind && n.Active })
	if i < 0 {
		return in.barred(kind, fabrics)
	}
	net := describe(fabrics[i])
	var loads, fails []*judged
	for i := range p.modules {
		m := &p.modules[i]
		t := transportOf(m.Path)
		switch {
		case t == nil || t.family != s.Family || !slices.Contains(t.kinds, kind):
		case m.Loads:
			loads = append(loads, m)
		default:
			fails = append(fails, m)
		}
	}
	switch {
	case len(loads)+len(fails) == 0 && s.Family == stack.UCX:
		return []Finding{in.network(Finding{ID: "transports", Level: Warn, Act: User, Packages: packages(s.Package),
			Evidence: fmt.Sprintf("%s would run over TCP: %s has no module for %s in the environment", s.Family, s.Package, net),
			Next:     "take the package ucx of conda-forge, whose modules are in lib/ucx"})}
	case len(fails) == 0:
		return []Finding{{ID: "transports", Level: Fits, Evidence: fmt.Sprintf("%s (%s) reaches %s", s.Family, s.Package, net)}}
	}
	f := Finding{ID: "transports", Level: Warn, Act: User, File: fails[0].Path, Packages: packages(fails[0].Package),
		Next: "add the package that has what is missing to the manifest (rdma-core has the libraries of verbs), or ask the administrator to install it on the nodes"}
	why := in.lack(fails[0].Verdict, fails[0].Package)
	if len(loads) == 0 {
		f.Evidence = fmt.Sprintf("%s would run over TCP instead of %s: %s", s.Family, net, why)
	} else {
		var names []string
		for _, m := range fails {
			names = append(names, transportOf(m.Path).names...)
		}
		f.Evidence = fmt.Sprintf("%s reaches %s without %s: %s", s.Family, net, strings.Join(names, ", "), why)
	}
	return []Finding{in.network(f)}
}

// barred: no network of a kind can be used. One whose link is up, and that has no device
// node, is a node's that is not as it should be.
func (in *Input) barred(kind string, fabrics []facts.Network) []Finding {
	n := fabrics[slices.IndexFunc(fabrics, func(n facts.Network) bool { return n.Kind == kind })]
	if i := slices.IndexFunc(fabrics, func(n facts.Network) bool { return n.Kind == kind && n.Barred != "" }); i >= 0 {
		n = fabrics[i]
	}
	f := Finding{ID: "transports", Level: Warn, Act: Administrator,
		Evidence: fmt.Sprintf("%s would run over TCP: %s cannot be used: %s", in.Needs.Stack.Family, describe(n), n.Problem),
		Next:     "look at the adapter and its cable (ibstat), or take the node out of service"}
	if n.Barred != "" {
		f.Next = "let users open the device nodes (the udev rules of rdma-core make them so)"
	}
	if n.Barred == facts.Missing {
		f.Next = "load ib_uverbs, or look at the adapter's driver, and restart slurmd if it hides the devices"
		if !in.single() {
			f.Level = Unhealthy
		}
	}
	return []Finding{in.network(f)}
}

// network is a finding that says nothing against a step on this node alone.
func (in *Input) network(f Finding) Finding {
	if in.single() {
		f.Level, f.Next, f.Act = Fits, "", ""
		f.Evidence += "; that does not matter on one node"
	}
	return f
}

// fabrics are the node's networks that are better than Ethernet, whether or not they
// can be used.
func (in *Input) fabrics() []facts.Network {
	var all []facts.Network
	for _, n := range in.Facts.Networks {
		if n.Kind != facts.Ethernet {
			all = append(all, n)
		}
	}
	return all
}

// kindsOf networks, each once.
func kindsOf(networks []facts.Network) (kinds []string) {
	for _, n := range networks {
		if !slices.Contains(kinds, n.Kind) {
			kinds = append(kinds, n.Kind)
		}
	}
	return kinds
}

// describe is a network for messages: "mlx5_0 (infiniband, 200 Gbit/s)".
func describe(n facts.Network) string {
	rate := ""
	if n.Rate > 0 {
		rate = fmt.Sprintf(", %g Gbit/s", n.Rate)
	}
	return n.Device + " (" + n.Kind + rate + ")"
}

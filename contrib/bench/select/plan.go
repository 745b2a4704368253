package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/internal/figure"
)

// The cluster and the lock that are measured.
const (
	nodes        = 10_000
	kinds        = 40
	environments = 16
)

// plans measures selection for a whole cluster, and a node's part of it.
func plans(out io.Writer, report *figure.Report) error {
	in := input()
	fmt.Fprintf(out, "%d nodes of %d kinds, %d environments for 2 platforms, %d requirements each\n",
		nodes, kinds, environments, len(in.Environments[0].Platforms[0].Requirements))
	var wire []byte
	whole, err := medianOf(func() error {
		plan, err := selection.SelectLater(in)
		if err != nil {
			return err
		}
		if _, err := json.Marshal(plan); err != nil {
			return err
		}
		pinned, err := plan.Pin(func(*selection.Choice) string { return "0123456789abcdef0123456789abcdef" })
		if err != nil {
			return err
		}
		wire, err = json.Marshal(pinned)
		return err
	})
	if err != nil {
		return err
	}
	named := in
	named.Wish.Environment = "variant-2"
	now, err := medianOf(func() error {
		_, err := selection.Select(named)
		return err
	})
	if err != nil {
		return err
	}
	known, fresh, err := node(in, wire)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-44s %8.2f ms\n%-44s %8.2f ms\n%-44s %8.2f ms\n%-44s %8.2f ms\n%-44s %8d bytes\n",
		"plan for nodes not yet known, pin, JSON", whole, "plan for all nodes, environment named", now,
		"a node decides (kind in the pin)", known, "a node decides (kind that appeared since)", fresh, "the pinned plan", len(wire))
	report.AtMost("select.plan", whole, "ms", 100)
	report.AtMost("select.all", now, "ms", 20)
	report.AtMost("select.node", known, "ms", 5)
	report.AtMost("select.node.fresh", fresh, "ms", 5)
	report.AtMost("select.pin", float64(len(wire)), "bytes", 2500)
	return nil
}

// node measures a node's decision, reading the pin included.
func node(in selection.Input, wire []byte) (known, fresh float64, err error) {
	load := func(string) (*selection.Loaded, error) {
		return &selection.Loaded{Environments: in.Environments, Rules: in.Rules}, nil
	}
	decide := func(k *selection.Kind) (float64, error) {
		return medianOf(func() error {
			var p selection.PinnedPlan
			if err := json.Unmarshal(wire, &p); err != nil {
				return err
			}
			done, err := p.Resolve([]string{in.Groups[0].Kind.Digest})
			if err != nil {
				return err
			}
			_, err = done.Decide(k, load)
			return err
		})
	}
	if known, err = decide(&in.Groups[0].Kind); err != nil {
		return 0, 0, err
	}
	appeared := in.Groups[0].Kind
	appeared.PageSize = 16384
	appeared = appeared.Sealed()
	fresh, err = decide(&appeared)
	return known, fresh, err
}

// input is a lock with environments for every stack, and a cluster with every
// fabric.
func input() selection.Input {
	in := selection.Input{Wish: selection.Wish{MultiNode: true}}
	for i := range environments {
		in.Environments = append(in.Environments, environment(i))
	}
	for i := range kinds {
		in.Groups = append(in.Groups, group(i))
	}
	return in
}

var subdirs = []string{"linux-64", "linux-aarch64"}

func environment(i int) selection.Environment {
	// Of each stack one is taken unasked, the others are variants that are named.
	e := selection.Environment{Name: fmt.Sprintf("variant-%d", i), Explicit: i > 2}
	st := stack.Stack{Family: stack.UCX, Package: "ucx 1.18.0", Networks: []string{facts.InfiniBand, facts.RoCE, facts.Slingshot10, facts.EFA}, MPI: "openmpi 5"}
	switch i % 3 {
	case 0:
		st.GPU, st.UsesGPU = true, true
	case 1:
		st.Family, st.Package, st.Networks = stack.GASNet, "realm-gex-wrapper 1.0", []string{facts.Slingshot10, facts.Slingshot11, facts.OmniPath}
		st.GPU, st.UsesGPU = true, true
	}
	if i == 0 {
		e.Name = "default"
	}
	for _, subdir := range subdirs {
		c := selection.Candidate{Platform: subdir, Subdir: subdir, Stack: st}
		ask := func(source requirement.Source, format string, args ...any) {
			c.Requirements = append(c.Requirements, requirement.Requirement{Spec: fmt.Sprintf(format, args...), Source: source, Packages: []string{"python 3.12.4", "numpy 2.0.2"}})
		}
		for n := range 6 {
			ask(requirement.Depends, "__glibc >=2.%d,<3.0.a0", 12+n)
			ask(requirement.Constrains, "__cuda >=11.%d", n)
		}
		ask(requirement.Depends, "__linux")
		ask(requirement.Depends, "__unix")
		if st.GPU {
			ask(requirement.Depends, "__cuda >=12")
		}
		e.Platforms = append(e.Platforms, c)
	}
	return e
}

func group(i int) selection.Group {
	each := nodes / kinds
	k := selection.Kind{
		Subdir: subdirs[i%2], PageSize: 4096, Ancestors: []string{"zen4", "zen3", "x86_64_v3", "x86_64_v2", "x86_64"},
		Virtuals: []requirement.Virtual{
			{Name: "__archspec", Version: "1", Build: "zen4"}, {Name: "__glibc", Version: fmt.Sprintf("2.%d", 28+i), Build: "0"},
			{Name: "__linux", Version: fmt.Sprintf("5.14.%d", i), Build: "0"}, {Name: "__unix", Version: "0", Build: "0"},
		},
	}
	fabrics := []string{facts.InfiniBand, facts.Slingshot11, facts.RoCE, facts.OmniPath, facts.EFA}
	if fabric := i % (len(fabrics) + 1); fabric < len(fabrics) {
		k.Networks = []string{fabrics[fabric], facts.Ethernet}
		k.GPU, k.Driver, k.Models = true, "550.54.15", []string{"H100"}
		k.Virtuals = append(k.Virtuals, requirement.Virtual{Name: "__cuda", Version: "12.4", Build: "0"})
	} else {
		k.Networks = []string{facts.Ethernet}
	}
	return selection.Group{Kind: k.Sealed(), Nodes: fmt.Sprintf("part%02d-[%04d-%04d]", i, i*each, (i+1)*each-1), Count: each}
}

// medianOf 11 runs, in milliseconds.
func medianOf(f func() error) (float64, error) {
	times := make([]time.Duration, 11)
	for i := range times {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		times[i] = time.Since(start)
	}
	return float64(figure.Median(times).Microseconds()) / 1000, nil
}

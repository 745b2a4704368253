package selection_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// siteTable is the program's with another floor of CUDA 12.
func siteTable(t *testing.T) *cuda.Table {
	t.Helper()
	text := strings.Replace(cuda.Default().Text, "family 12 525.60.13", "family 12 515.48.07", 1)
	table, err := cuda.Parse("/etc/hpcenv/cuda.txt", []byte(text))
	if err != nil || table.Digest == cuda.Default().Digest {
		t.Fatalf("%v %v", table, err)
	}
	return table
}

// A site's table is part of its rules: it decides, has a part in their digest, and is the
// same for who reads them in the store.
func TestTheSitesTable(t *testing.T) {
	site, err := selection.NewRules([]selection.Rule{{Key: "mine", Prefer: []string{"MPI"}}})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := site.WithCUDA(siteTable(t))
	if err != nil {
		t.Fatal(err)
	}
	if rules.Digest() == site.Digest() || len(rules.Table()) != len(site.Table()) || site.CUDA() != nil {
		t.Errorf("digests %s and %s, %d and %d rows", rules.Digest(), site.Digest(), len(rules.Table()), len(site.Table()))
	}
	data, err := rules.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, err := selection.LoadRules(data)
	if err != nil || again.Digest() != rules.Digest() || again.CUDA().Name() != siteTable(t).Name() {
		t.Errorf("read again: %v, %s and %s", err, again.Digest(), rules.Digest())
	}
	if none, err := rules.WithCUDA(nil); err != nil || none.Digest() != site.Digest() {
		t.Errorf("without it: %v", err)
	}
	if _, err := selection.LoadRules([]byte(strings.Replace(string(data), "family 12 515.48.07", "family 12 new", 1))); !errors.Is(err, selection.ErrRules) || !errors.Is(err, cuda.ErrTable) {
		t.Errorf("a broken table: %v", err)
	}

	env := []selection.Environment{{Name: "default", Platforms: onBoth(selection.Candidate{Requirements: []requirement.Requirement{
		{Spec: "cuda-driver 12.9", Source: requirement.CUDA, Packages: []string{"cuda-version 12.9"}},
	}})}}
	in := selection.Input{Environments: env, Groups: []selection.Group{v100(t)}, Rules: site}
	e := refused(t, in, selection.ErrNoFit)
	hasAll(t, e.Error(), "has driver 520.61.05, needs >= 525.60.13 (cuda-version 12.9)")
	if e.Plan.CUDA != cuda.Default().Name() {
		t.Errorf("judged by %q", e.Plan.CUDA)
	}
	in.Rules = again
	// CUDA 12 over a driver of CUDA 11: what the node says of itself is judged by the
	// driver, as long as the table says the same of it.
	if p := mustSelect(t, in); p.CUDA != siteTable(t).Name() {
		t.Errorf("judged by %q", p.CUDA)
	}
}

// Kinds that differ in what counts for CUDA do not share a verdict, and the pin of those
// that do not is the same as ever.
func TestCUDAOfKinds(t *testing.T) {
	env := []selection.Environment{{Name: "default", Platforms: onBoth(selection.Candidate{Requirements: []requirement.Requirement{
		{Spec: "cuda-compute 13.0", Source: requirement.CUDA, Packages: []string{"cuda-version 13.0"}},
		{Spec: "cuda-driver 13.0", Source: requirement.CUDA, Packages: []string{"cuda-version 13.0"}, Compat: "13.0"},
	}})}}
	kind := func(driver, cudaVersion, compute, model string) selection.Group {
		k := gpuIB(t).Kind
		k.Virtuals = append(virtuals(cudaVersion), requirement.Virtual{Name: "__archspec", Version: "1", Build: "haswell"}, requirement.Virtual{Name: "__cuda_arch", Version: compute, Build: "0"})
		k.Driver, k.Models = driver, []string{model}
		return selection.Group{Kind: k.Sealed(), Nodes: model + "-" + driver}
	}
	fits := map[string]bool{}
	groups := []selection.Group{
		kind("535.104.05", "12.2", "9.0", "H100"), kind("545.23.06", "12.3", "9.0", "H100"), kind("535.104.05", "12.2", "8.6", "RTX 3090"),
		kind("580.65.06", "13.0", "7.0", "V100"), kind("580.65.06", "13.0", "9.0", "H100"), kind("580.65.06", "13.0", "8.6", "RTX 3090"),
	}
	p, err := selection.SelectLater(selection.Input{Environments: env, Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.Rows {
		fits[r.Nodes] = r.Choice != nil
	}
	for nodes, want := range map[string]bool{
		"H100-535.104.05": true, "H100-545.23.06": false, "RTX 3090-535.104.05": false, "V100-580.65.06": false, "H100-580.65.06": true, "RTX 3090-580.65.06": true,
	} {
		if fits[nodes] != want {
			t.Errorf("%s fits: %v", nodes, fits[nodes])
		}
	}
}

package selection

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

func TestKindLabels(t *testing.T) {
	digests := map[string]string{}
	for name, want := range map[string]string{
		"ib-gpu": "x86-64 H100 InfiniBand", "ib-gpu-old": "x86-64 H100 InfiniBand", "ss11-gpu": "x86-64 A100 Slingshot-11",
		"eth": "x86-64 Ethernet", "gh-ss11": "aarch64 GH200 Slingshot-11", "gh-ss11-4k": "aarch64 GH200 Slingshot-11",
		"roce-gpu": "x86-64 H200 RoCE", "ss10-gpu": "x86-64 A100 Slingshot-10", "opa-gpu": "x86-64 V100 Omni-Path",
		"efa-gpu": "x86-64 H100 EFA", "ib-down": "x86-64 Ethernet", "ss11-amd": "x86-64 gfx90a Slingshot-11",
	} {
		k := KindOf(facts.Read(t.Context(), factstest.Tree(t, name)), nil)
		if k.Label != want {
			t.Errorf("%s: %q, want %q", name, k.Label, want)
		}
		if len(k.Digest) != 16 {
			t.Errorf("%s: digest %q", name, k.Digest)
		}
		// A port that is down is no network: such a node is of the kind eth.
		if other := digests[k.Digest]; other != "" && other+name != "ethib-down" && other+name != "ib-downeth" {
			t.Errorf("%s and %s are of one kind", other, name)
		}
		digests[k.Digest] = name
	}
	if n := len(digests); n != 11 {
		t.Errorf("%d kinds, want 11", n)
	}
}

// TestKindIsStable: what does not matter makes no other kind, and what matters does.
func TestKindIsStable(t *testing.T) {
	root := factstest.Tree(t, "ib-gpu")
	base := facts.Read(t.Context(), root)
	want := KindOf(base, nil)
	for _, c := range []struct {
		name   string
		change func(*facts.Facts)
		same   bool
	}{
		{"order of networks", func(f *facts.Facts) { slices.Reverse(f.Networks) }, true},
		{"names of devices", func(f *facts.Facts) { f.Networks[0].Device = "ibp0" }, true},
		{"one rail less", func(f *facts.Facts) { f.Networks = f.Networks[1:] }, true},
		{"a rail at half its rate", func(f *facts.Facts) { f.Networks[0].Rate /= 2 }, true},
		{"one rail down", func(f *facts.Facts) { f.Networks[0].Active = false }, true},
		{"number of GPUs", func(f *facts.Facts) { f.GPU.Models[0].Count = 8 }, true},
		{"the kernel's build", func(f *facts.Facts) { f.Kernel = "5.14.0-503.el9.x86_64" }, true},
		{"squashfs, MPI, problems", func(f *facts.Facts) { f.Squashfs, f.MPI, f.PMI, f.Problems = facts.Squashfs{}, nil, nil, []string{"x"} }, true},
		{"why the processor is no newer one", func(f *facts.Facts) { f.CPU.Because = "x" }, true},
		{"the kernel", func(f *facts.Facts) { f.Kernel = "5.14.1-427.el9.x86_64" }, false},
		{"all rails down", func(f *facts.Facts) {
			for i := range f.Networks {
				f.Networks[i].Active = f.Networks[i].Kind == facts.Ethernet
			}
		}, false},
		{"the driver", func(f *facts.Facts) { f.GPU.Driver = "535.104.06" }, false},
		{"the GPU", func(f *facts.Facts) { f.GPU.Models[0].Name = "NVIDIA H200" }, false},
		{"no GPU", func(f *facts.Facts) { f.GPU = nil }, false},
		{"glibc", func(f *facts.Facts) { f.Glibc = "2.35" }, false},
		{"page size", func(f *facts.Facts) { f.PageSize = 65536 }, false},
		{"processor", func(f *facts.Facts) { f.CPU.Name, f.CPU.Ancestors = "icelake", facts.Ancestors("icelake") }, false},
		{"platform", func(f *facts.Facts) { f.Platform = "linux-aarch64" }, false},
	} {
		b, err := json.Marshal(base)
		if err != nil {
			t.Fatal(err)
		}
		var f facts.Facts
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		c.change(&f)
		if got := KindOf(&f, nil); (got.Digest == want.Digest) != c.same {
			t.Errorf("%s: the same kind is %t, want %t: %s", c.name, !c.same, c.same, cmp.Diff(want, got))
		}
	}
	// What the user overrides is another kind too, and a kind travels as JSON.
	env := func(name string) (string, bool) { return "", name == "CONDA_OVERRIDE_CUDA" }
	if KindOf(base, env).Digest == want.Digest {
		t.Error("without __cuda it is the same kind")
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var back Kind
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back.Sealed()); diff != "" {
		t.Errorf("through JSON (-before +after):\n%s", diff)
	}
}

func TestKindLabelOfUnknown(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		want string
	}{
		{Kind{}, "unknown machine no network"},
		{Kind{Subdir: "linux-64", GPU: true, Assumed: true}, "x86-64 GPU"},
		{Kind{Subdir: "linux-64", Models: []string{"A100", "H100"}, GPU: true, Networks: []string{facts.InfiniBand, facts.RoCE, facts.Ethernet}}, "x86-64 A100+H100 InfiniBand+RoCE"},
	} {
		if got := c.kind.Sealed().Label; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for model, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "H100", "NVIDIA A100-SXM4-40GB": "A100", "Tesla V100-PCIE-16GB": "V100", "NVIDIA GeForce RTX 3090": "RTX 3090",
		"NVIDIA RTX 6000 Ada Generation": "RTX 6000", "NVIDIA RTX PRO 6000 Blackwell": "RTX PRO 6000", "NVIDIA": "NVIDIA", "": "GPU", "gfx90a": "gfx90a",
	} {
		if got := shortModel(model); got != want {
			t.Errorf("%q: %q, want %q", model, got, want)
		}
	}
}

// A node that has never been up has the architecture that a feature names.
func TestAssumedArchitecture(t *testing.T) {
	for _, c := range []struct {
		subdir   string
		features []string
		want     string
	}{
		{"", []string{"ib", "x86_64"}, "linux-64"},
		{"", []string{"ARM64"}, "linux-aarch64"},
		{"", []string{"x86_64", "aarch64"}, ""},
		{"", []string{"aarch64", "x86_64", "aarch64"}, ""},
		{"", []string{"ib"}, ""},
		{"linux-64", []string{"aarch64"}, "linux-64"},
	} {
		if k := Assume(c.subdir, "", c.features); k.Subdir != c.want || !k.Assumed {
			t.Errorf("%q, %q: %q, want %q", c.subdir, c.features, k.Subdir, c.want)
		}
	}
}

// Kinds of one label are told apart by what people know of them first.
func TestDistinctLabels(t *testing.T) {
	kind := func(driver, glibc string, pages int64) Kind {
		return Kind{Subdir: "linux-64", GPU: true, Models: []string{"H100"}, Driver: driver, PageSize: int(pages), Networks: []string{"infiniband"},
			Virtuals: []requirement.Virtual{{Name: "__glibc", Version: glibc}}}.Sealed()
	}
	for name, c := range map[string]struct {
		kinds []Kind
		want  []string
	}{
		"driver":  {[]Kind{kind("535", "2.34", 4096), kind("520", "2.34", 4096)}, []string{"driver 535", "driver 520"}},
		"glibc":   {[]Kind{kind("535", "2.34", 4096), kind("535", "2.28", 4096)}, []string{"glibc 2.34", "glibc 2.28"}},
		"both":    {[]Kind{kind("535", "2.34", 4096), kind("535", "2.28", 4096), kind("520", "2.28", 4096)}, []string{"driver 535, glibc 2.34", "driver 535, glibc 2.28", "driver 520"}},
		"pages":   {[]Kind{kind("535", "2.34", 4096), kind("535", "2.34", 65536)}, []string{"pages of 4 KiB", "pages of 64 KiB"}},
		"another": {[]Kind{kind("535", "2.34", 4096), Kind{Subdir: "linux-64"}.Sealed()}, []string{"", ""}},
	} {
		var rows []Row
		for _, k := range c.kinds {
			rows = append(rows, Row{Group: Group{Kind: k}})
		}
		for i, k := range c.kinds {
			want := k.Label
			if c.want[i] != "" {
				want += ", " + c.want[i]
			}
			if got := k.Distinct(rows); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

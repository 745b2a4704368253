package facts_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

// withOverride reads a tree with a site's file; the next call replaces the file.
func withOverride(t *testing.T, root, text string) *facts.Facts {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, facts.OverrideFile)); err != nil {
		t.Fatal(err)
	}
	if text != "" {
		writeTree(t, root, facts.OverrideFile, text)
	}
	return facts.Read(t.Context(), root)
}

// TestOverride replaces what the file names, and nothing else.
func TestOverride(t *testing.T) {
	root := factstest.Tree(t, "ib-gpu")
	for _, c := range []struct {
		text   string
		want   func(*facts.Facts)
		fields []string
	}{
		{`{"glibc": "2.28"}`, func(f *facts.Facts) { f.Glibc = "2.28" }, []string{"glibc"}},
		{`{"networks": [{"kind": "roce", "device": "x0", "active": true}]}`, func(f *facts.Facts) {
			f.Networks = []facts.Network{{Kind: facts.RoCE, Device: "x0", Active: true}}
		}, []string{"networks"}},
		{`{"gpu": null}`, func(f *facts.Facts) { f.GPU = nil }, []string{"gpu"}},
		{`{"gpu": {"compute": "8.0"}, "page_size": 65536}`, func(f *facts.Facts) { f.GPU.Compute, f.PageSize = "8.0", 65536 }, []string{"gpu.compute", "page_size"}},
		// What follows from a field given alone follows.
		{`{"gpu": {"driver": "580.65.06"}}`, func(f *facts.Facts) { f.GPU.Driver, f.GPU.CUDA = "580.65.06", "13.0" }, []string{"gpu.driver"}},
		{`{"gpu": {"driver": "580.65.06", "cuda": "12.9"}}`, func(f *facts.Facts) { f.GPU.Driver, f.GPU.CUDA = "580.65.06", "12.9" }, []string{"gpu.cuda", "gpu.driver"}},
		{`{"cpu": {"name": "haswell"}}`, func(f *facts.Facts) {
			f.CPU.Name, f.CPU.Ancestors, f.CPU.Level, f.CPU.Because = "haswell", facts.Ancestors("haswell"), 3, ""
		}, []string{"cpu.name"}},
		{`{"cpu": {"name": "ours", "ancestors": ["ours", "x86_64"]}}`, func(f *facts.Facts) {
			f.CPU.Name, f.CPU.Ancestors = "ours", []string{"ours", "x86_64"}
		}, []string{"cpu.ancestors", "cpu.name"}},
		{`{"machine": "aarch64"}`, func(f *facts.Facts) { f.Machine, f.Platform = "aarch64", "linux-aarch64" }, []string{"machine"}},
		{`{"squashfs": {"mounts": "no", "compressors": null}}`, func(f *facts.Facts) { f.Squashfs = facts.Squashfs{Mounts: facts.No} }, []string{"squashfs.compressors", "squashfs.mounts"}},
		{`{}`, func(*facts.Facts) {}, nil},
	} {
		want := withOverride(t, root, "")
		c.want(want)
		want.Overrides = c.fields
		if diff := cmp.Diff(want, withOverride(t, root, c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

// TestOverrideUnusable: a file that cannot be used changes nothing, and says so.
func TestOverrideUnusable(t *testing.T) {
	root := factstest.Tree(t, "ib-gpu")
	for text, problem := range map[string]string{
		"{":                                   "EOF",
		"[]":                                  "array",
		`{"glib": "2.28"}`:                    `unknown field "glib"`,
		`{"gpu": {"drivre": "5"}}`:            `unknown field "drivre"`,
		`{"gpu": {"vendor": "acme"}}`:         "neither nvidia nor amd",
		`{"page_size": 5000}`:                 "power of two",
		`{"page_size": "big"}`:                "page_size",
		`{"networks": [{"kind": "pigeon"}]}`:  "no kind of network",
		`{"cpu": {"name": "z80"}}`:            "none of archspec's names",
		`{"problems": []}`:                    "not a site's to say",
		`{"squashfs": {"mounts": "perhaps"}}`: "neither yes, no nor unknown",
		`{} {}`:                               "more than one",
	} {
		f := withOverride(t, root, text)
		if !hasProblem(f, "override: ", facts.OverrideFile, problem) {
			t.Errorf("%s: problems %q", text, f.Problems)
		}
		f.Problems = slices.DeleteFunc(f.Problems, func(p string) bool { return len(p) > 9 && p[:9] == "override:" })
		if len(f.Problems) == 0 {
			f.Problems = nil
		}
		if diff := cmp.Diff(withOverride(t, root, ""), f); diff != "" {
			t.Errorf("%s changed (-without +with):\n%s", text, diff)
		}
	}
}

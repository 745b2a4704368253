package planning

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"encoding/json"

	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

const lockDigest = "d0"

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func floor(version, file string) requirement.Requirement {
	return requirement.Requirement{Spec: "__glibc >=" + version, Source: requirement.Files, Packages: []string{"p 1"}, File: file}
}

// publish writes an index and what environments ask, by id and platform.
func publish(t *testing.T, root string, envs map[string]string, all map[string]*needs.Needs) {
	t.Helper()
	ix := lockfile.Index{Linker: materialize.LinkerVersion, Environments: map[string]lockfile.IndexEnvironment{}}
	for name, id := range envs {
		ix.Environments[name] = lockfile.IndexEnvironment{ID: id, Platforms: []string{"linux-64"}}
	}
	data, err := json.Marshal(ix)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "locks", lockDigest, "index.json"), data)
	for at, n := range all {
		n.Version, n.Extractor = needs.Version, elf.Extractor
		data, err := n.Encode()
		if err != nil {
			t.Fatal(err)
		}
		id, platform, _ := strings.Cut(at, "/")
		put(t, filepath.Join(root, "meta", id, platform+".needs.json"), data)
	}
}

func TestSharpened(t *testing.T) {
	root := t.TempDir()
	publish(t, root, map[string]string{"default": "i1", "cpu": "i2", "broken": "i3"}, map[string]*needs.Needs{
		"i1/linux-64":      {Requirements: []requirement.Requirement{floor("2.34", "lib/a.so")}, Page: &needs.Page{Size: 65536, File: "lib/b.so", Package: "q 2"}},
		"i1/linux-aarch64": {Page: &needs.Page{Size: 4096, File: "bin/made"}},
		"i2/linux-64":      {Page: &needs.Page{Size: 65536, File: "lib/b.so", Package: "q 2"}},
	})
	put(t, filepath.Join(root, "meta", "i3", "linux-64.needs.json"), []byte("damage"))
	asked := requirement.Requirement{Spec: "__glibc >=2.17", Source: requirement.Depends, Packages: []string{"p 1"}}
	d := &Description{Environments: []selection.Environment{
		{Name: "default", Platforms: []selection.Candidate{
			{Platform: "early", Subdir: "linux-64"},
			{Platform: "linux-64", Subdir: "linux-64", Requirements: []requirement.Requirement{asked}},
			{Platform: "z-arm", Subdir: "linux-aarch64"}, {Platform: "an-arm", Subdir: "linux-aarch64"}}},
		{Name: "cpu", Platforms: []selection.Candidate{{Platform: "linux-64", Subdir: "linux-64", Alignment: 4096, AlignmentPackage: "narrower"}}},
		{Name: "broken", Platforms: []selection.Candidate{{Platform: "linux-64", Subdir: "linux-64"}}},
		{Name: "unmade", Platforms: []selection.Candidate{{Platform: "linux-64", Subdir: "linux-64"}}},
	}}
	_, before, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got := d.Sharpened(prepared.Store{Root: root}, lockDigest)
	want := &Description{Environments: []selection.Environment{
		{Name: "default", Platforms: []selection.Candidate{
			{Platform: "early", Subdir: "linux-64"},
			{Platform: "linux-64", Subdir: "linux-64", Requirements: []requirement.Requirement{asked, floor("2.34", "lib/a.so")}, Alignment: 65536, AlignmentPackage: "lib/b.so of q 2"},
			{Platform: "z-arm", Subdir: "linux-aarch64"}, {Platform: "an-arm", Subdir: "linux-aarch64", Alignment: 4096, AlignmentPackage: "bin/made"}}},
		d.Environments[1], d.Environments[2], d.Environments[3],
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, after, err := d.Encode(); err != nil || after != before {
		t.Errorf("the description itself has changed: %v", err)
	}
	if diff := cmp.Diff(d, d.Sharpened(prepared.Store{Root: t.TempDir()}, lockDigest)); diff != "" {
		t.Errorf("a store that has nothing:\n%s", diff)
	}
}

// TestSharpenedDecides: what a file asks for decides as what a package says, and is said.
func TestSharpenedDecides(t *testing.T) {
	root := t.TempDir()
	publish(t, root, map[string]string{"default": "i1"}, map[string]*needs.Needs{
		"i1/linux-64": {Requirements: []requirement.Requirement{floor("2.34", "lib/libfoo.so")}, Page: &needs.Page{Size: 4096, File: "lib/b.so", Package: "q 2"}},
	})
	d := &Description{Environments: []selection.Environment{
		{Name: "default", Platforms: []selection.Candidate{{Platform: "linux-64", Subdir: "linux-64"}}},
		{Name: "other", Platforms: []selection.Candidate{{Platform: "linux-64", Subdir: "linux-64"}}},
	}}
	kind := selection.Kind{Subdir: "linux-64", PageSize: 65536, Virtuals: []requirement.Virtual{{Name: "__glibc", Version: "2.31"}}}.Sealed()
	in := selection.Input{Environments: d.Sharpened(prepared.Store{Root: root}, lockDigest).Environments, Groups: []selection.Group{{Kind: kind, Nodes: "n1", Count: 1}}}
	plan, err := selection.Select(in)
	if err != nil || plan.Rows[0].Choice.Environment != "other" {
		t.Fatalf("%+v, %v", plan, err)
	}
	in.Wish.Environment = "default"
	_, err = selection.Select(in)
	for _, text := range []string{"has glibc 2.31, needs __glibc >=2.34 (lib/libfoo.so of p 1)", "has pages of 64 KiB, its programs are laid out for 4 KiB (lib/b.so of q 2)"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
}

func BenchmarkSharpened(b *testing.B) {
	root := b.TempDir()
	d := new(Description)
	ix := lockfile.Index{Linker: materialize.LinkerVersion, Environments: map[string]lockfile.IndexEnvironment{}}
	n := &needs.Needs{Version: needs.Version, Extractor: elf.Extractor, Requirements: []requirement.Requirement{floor("2.34", "lib/a.so")}, Page: &needs.Page{Size: 65536, File: "lib/b.so", Package: "q 2"},
		Prefix: needs.Prefix{Dirs: map[string][]string{"lib": strings.Split(strings.Repeat("libsomething.so.1,", 5000), ",")}}}
	data, err := n.Encode()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		e := selection.Environment{Name: name}
		ix.Environments[name] = lockfile.IndexEnvironment{ID: name}
		for _, p := range []string{"linux-64", "linux-aarch64"} {
			e.Platforms = append(e.Platforms, selection.Candidate{Platform: p, Subdir: p})
			at := filepath.Join(root, "meta", name, p+".needs.json")
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(at, data, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		d.Environments = append(d.Environments, e)
	}
	index, err := json.Marshal(ix)
	if err != nil {
		b.Fatal(err)
	}
	at := filepath.Join(root, "locks", lockDigest, "index.json")
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(at, index, 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if s := d.Sharpened(prepared.Store{Root: root}, lockDigest); s.Environments[2].Platforms[1].Alignment != 65536 {
			b.Fatal("not read")
		}
	}
}

//go:build oracle

package oracle

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/internal/peer"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// solveWithVirtuals asks rattler's solver whether a package that depends on a
// spec, or constrains it, can be installed on a machine with some virtual packages
// and no others.
const solveWithVirtuals = `
import asyncio, json, os, sys, tempfile
from rattler import BuildString, Channel, GenericVirtualPackage, MatchSpec, PackageName, SparseRepoData, Version, solve_with_sparse_repodata
q = json.load(sys.stdin)
nodes = [[GenericVirtualPackage(PackageName(v["name"]), Version(v["version"]), BuildString(v["build"])) for v in n] for n in q["nodes"]]
packages = {}
for i, s in enumerate(q["specs"]):
    for key in ("depends", "constrains"):
        record = {"name": f"p{i}-{key}", "version": "1", "build": "0", "build_number": 0, "depends": [], "constrains": [], "subdir": "noarch"}
        record[key] = [s]
        packages[f"p{i}-{key}-1-0.tar.bz2"] = record
with tempfile.TemporaryDirectory() as d:
    file = os.path.join(d, "repodata.json")
    with open(file, "w") as f:
        json.dump({"info": {"subdir": "noarch"}, "packages": packages, "packages.conda": {}}, f)
    data = SparseRepoData(Channel("file://" + d), "noarch", file)
    async def ask(i, key, node):
        try:
            return len(await solve_with_sparse_repodata([MatchSpec(f"p{i}-{key}")], [data], virtual_packages=nodes[node])) == 1
        except Exception as e:
            if type(e).__name__ != "SolverError": raise
            return False
    async def all():
        return [await ask(*a) for a in q["asks"]]
    json.dump(asyncio.run(all()), sys.stdout)
`

// onPurpose are the differences to rattler's solver that are meant, each with a
// test for it.
var onPurpose = []struct {
	reason string
	holds  func(spec *matchspec.MatchSpec, source requirement.Source, n requirement.Node, ours, rattlers bool) bool
}{
	{
		"a microarchitecture has what its ancestors have: archspec's order instead of equal names",
		func(m *matchspec.MatchSpec, _ requirement.Source, n requirement.Node, ours, rattlers bool) bool {
			return m.Name == "__archspec" && ours && !rattlers && slices.ContainsFunc(n.Ancestors, func(a string) bool {
				fits, err := path.Match(m.Build.String(), a)
				return err == nil && fits
			})
		},
	},
	{
		"a condition behind `; if`, a form that rattler no longer reads",
		func(m *matchspec.MatchSpec, _ requirement.Source, _ requirement.Node, ours, rattlers bool) bool {
			return strings.Contains(m.String(), "; if ") && ours && !rattlers
		},
	},
}

func virtuals(n requirement.Node) (out []requirement.Virtual) {
	out = []requirement.Virtual{} // never null
	for _, v := range n.Virtuals {
		out = append(out, v)
	}
	return out
}

// node makes one of NAME, VERSION, BUILD, ….
func node(ancestors string, texts ...string) requirement.Node {
	n := requirement.Node{Virtuals: map[string]requirement.Virtual{}, Ancestors: strings.Fields(ancestors)}
	for i := 0; i < len(texts); i += 3 {
		n.Virtuals[texts[i]] = requirement.Virtual{Name: texts[i], Version: texts[i+1], Build: texts[i+2]}
	}
	return n
}

var nodes = []requirement.Node{
	node(""),
	node("x86_64", "__unix", "0", "0", "__linux", "4.18.0", "0", "__glibc", "2.28", "0", "__archspec", "1", "x86_64"),
	node("zen4 zen3 zen2 zen x86_64_v4 x86_64_v3 x86_64_v2 x86_64", "__unix", "0", "0", "__linux", "5.14.0", "0", "__glibc", "2.34", "0", "__archspec", "1", "zen4", "__cuda", "12.4", "0", "__cuda_arch", "9.0", "0"),
	node("zen2 zen x86_64_v3 x86_64_v2 x86_64", "__unix", "0", "0", "__linux", "3.10", "0", "__glibc", "2.17", "0", "__archspec", "1", "zen2", "__cuda", "11.8", "0"),
	node("neoverse_v2 neoverse_n1 armv9.0a armv8.2a aarch64", "__unix", "0", "0", "__linux", "6.8.0", "0", "__glibc", "2.39", "0", "__archspec", "1", "neoverse_v2", "__cuda", "13.0", "0"),
	node("mystery", "__archspec", "0", "mystery", "__cuda", "12", "0", "__glibc", "2.28.1", "0"),
}

func makeVirtualSpec(r *rand.Rand) string {
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	v := func() string {
		return some("12", "11.8", "12.4", "12.8", "13", "2.17", "2.28", "2.34", "3.0.a0", "12.*", "2.*", "12.4.*", "5.14", "9.0", "1", "0", "4.18.0", "*")
	}
	op := func() string { return some(">=", "<", "<=", ">", "==", "!=", "=", "~=") }
	build := func() string {
		return some("0", "x86_64_v3", "x86_64_v4", "x86_64", "zen*", "zen2", "zen4", "neoverse*", "neoverse_n1", "aarch64", "*", "*_v3", "mystery", "^zen.$")
	}
	name := some("__cuda", "__cuda", "__glibc", "__glibc", "__linux", "__unix", "__cuda_arch", "__osx", "__archspec", "__archspec", "__archspec", "__CUDA")
	s := name
	switch r.IntN(9) {
	case 0:
	case 1:
		s += some(" ", "  ", "") + op() + some("", " ") + v()
	case 2:
		s += " " + some(">=", ">", "") + v() + some(",", "|", ", ") + some("<", "<=", "!=", "") + v()
	case 3:
		s += some("=", "==") + v()
	case 4:
		s += " " + some("1", "0", "*", ">=0", ">=1", "12.4", "2.28") + " " + build()
	case 5:
		s += "=" + some("1", "0", "*", "12") + "=" + build()
	case 6:
		s += some("", " ") + "(" + v() + "|" + op() + v() + ")" + some("", ",<3")
	case 7:
		s += some("", " >=1") + "[" + some("version='>=12'", "build=zen*", "build='x86_64_v3'", "build_number=1", "license=MIT", "when='__linux'", "when='__cuda >=12'", "version='"+v()+"'", "when='__win'") + "]"
	case 8:
		s += " " + v() + some("", "; if __cuda", " >>2", " <", "; if __linux")
	}
	return s
}

// realSpecs are the specs over virtual packages of all packages of the shared
// locks.
func realSpecs(t *testing.T) []string {
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(testdata.Shared(t), "data", "locks"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "uv.lock" || !strings.HasSuffix(file, ".lock") && !strings.HasSuffix(file, ".yml") {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lock, err := lockfile.Parse(data)
		if err != nil {
			return nil // what must be refused
		}
		for _, env := range lock.Environments {
			for _, p := range append(slices.Clone(env.Platforms), env.Others...) {
				for _, r := range requirement.Of(p, nil) {
					if r.Source == requirement.Depends || r.Source == requirement.Constrains {
						found[r.Spec] = true
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for s := range found {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// TestRequirements: a package with a spec over a virtual package in depends or in
// constrains can be used on a node exactly if rattler would install it on one with
// these virtual packages, but for what is meant to differ.
func TestRequirements(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var q struct {
		Specs []string                `json:"specs"`
		Nodes [][]requirement.Virtual `json:"nodes"`
		Asks  [][3]any                `json:"asks"`
	}
	q.Specs = realSpecs(t)
	real := len(q.Specs)
	for range 5000 {
		q.Specs = append(q.Specs, makeVirtualSpec(r))
	}
	for _, n := range nodes {
		q.Nodes = append(q.Nodes, virtuals(n))
	}
	for i := range q.Specs {
		for _, source := range []string{"depends", "constrains"} {
			for j := range nodes {
				if i < real || r.IntN(3) == 0 {
					q.Asks = append(q.Asks, [3]any{i, source, j})
				}
			}
		}
	}
	var rattlers []bool
	peer.Ask(t, solveWithVirtuals, q, &rattlers)
	hits := make([]int, len(onPurpose))
	met, wrong := 0, 0
next:
	for i, ask := range q.Asks {
		spec, source, n := q.Specs[ask[0].(int)], requirement.Source(ask[1].(string)), nodes[ask[2].(int)]
		v := requirement.Check(requirement.Requirement{Spec: spec, Source: source, Packages: []string{"p 1"}}, n)
		if v.State == requirement.Assumed {
			t.Fatalf("%q on %v is assumed", spec, n.Virtuals)
		}
		if v.OK() {
			met++
		}
		if v.OK() == rattlers[i] {
			continue
		}
		if m, err := matchspec.Parse(spec); err == nil {
			for j, d := range onPurpose {
				if d.holds(m, source, n, v.OK(), rattlers[i]) {
					hits[j]++
					continue next
				}
			}
		}
		if wrong++; wrong <= 20 {
			t.Errorf("%s %q on %v: %+v, rattler has %v", source, spec, n.Virtuals, v, rattlers[i])
		}
	}
	t.Logf("%d real and %d generated specs, %d questions, %d of them met, %d answers differ without a reason", real, len(q.Specs)-real, len(q.Asks), met, wrong)
	for j, d := range onPurpose {
		t.Logf("%d answers differ on purpose: %s", hits[j], d.reason)
		if hits[j] == 0 {
			t.Errorf("nothing needs the difference: %s", d.reason)
		}
	}
	if real < 15 || met < 4000 || len(q.Asks)-met < 4000 {
		t.Error("the questions are too few or too alike")
	}
}

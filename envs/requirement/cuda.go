package requirement

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// Specs of the source CUDA, each with the version of CUDA behind it. They say what the
// packages bring, and no driver: which driver that needs, the table of the judge says.
const (
	driverSpec  = "cuda-driver"  // "cuda-driver 12.9"
	computeSpec = "cuda-compute" // "cuda-compute 12.9"
)

// cudaFamily is what an environment has of one family of CUDA.
type cudaFamily struct {
	version cuda.Version
	// by are packages that say it, of which those in `also` only have it in their
	// name, as all parts of the toolkit have.
	by, also []string
}

// cudaOf are the families of CUDA that the packages of a platform were built for:
// cuda-version, or where that is not there, builds for a CUDA; and the wheels' names
// and versions. compat is the version of cuda-compat, if there is one.
func cudaOf(p *lockfile.Platform) (families []*cudaFamily, compat string) {
	found := map[int]*cudaFamily{}
	add := func(v cuda.Version, by string, named bool) {
		f := found[v.Major]
		if f == nil {
			f = &cudaFamily{version: v}
			found[v.Major] = f
		}
		if v.Compare(f.version) > 0 {
			f.version = v
		}
		if named {
			f.also = append(f.also, by)
		} else {
			f.by = append(f.by, by)
		}
	}
	for _, c := range p.Conda {
		v, ok := cuda.ParseVersion(c.Version)
		switch {
		case c.Name == "cuda-version" || c.Name == "cudatoolkit":
			if ok {
				add(v, c.Name+" "+c.Version, false)
			}
		case c.Name == "cuda-compat" && ok:
			compat = v.String()
		}
	}
	if len(found) == 0 {
		for _, c := range p.Conda {
			for word := range strings.SplitSeq(c.Build, "_") {
				if v, ok := compact(cudaWord, word); ok {
					add(v, c.Name+" "+c.Version, false)
					break
				}
			}
		}
	}
	for _, w := range p.Installed() {
		if v, named, ok := cudaOfWheel(w.Name, w.Version); ok {
			add(v, w.Name+" "+w.Version, named)
		}
	}
	for _, major := range slices.Sorted(maps.Keys(found)) {
		f := found[major]
		if len(f.by) == 0 {
			f.by = f.also
		}
		families = append(families, f)
	}
	return families, compat
}

// Words that name a CUDA: cuda12, cuda118, cuda12.4, cuda112py39hab12 in builds, cuda12x
// in names; cu12, cu126 at the end of names and in local versions.
var (
	cudaWord = regexp.MustCompile(`^cuda([1-9][0-9])\.?([0-9]?)(?:x|py.*|h[0-9a-f]+)?$`)
	cuWord   = regexp.MustCompile(`^cu([1-9][0-9])([0-9]?)$`)
	runtime  = regexp.MustCompile(`^nvidia-cuda-runtime(-cu[1-9][0-9])?$`)
)

// compact reads a version out of a word: cu126 is 12.6.
func compact(form *regexp.Regexp, word string) (cuda.Version, bool) {
	m := form.FindStringSubmatch(word)
	if m == nil {
		return cuda.Version{}, false
	}
	return cuda.ParseVersion(m[1] + "." + cmp.Or(m[2], "0"))
}

// cudaOfWheel is the CUDA that a package from PyPI was built for; named: its name alone
// says so.
func cudaOfWheel(name, version string) (v cuda.Version, named, ok bool) {
	if runtime.MatchString(name) {
		v, ok = cuda.ParseVersion(version)
		return v, false, ok && v.Major >= 10 // the name was once a placeholder, 0.0.1
	}
	if _, local, has := strings.Cut(version, "+"); has {
		for word := range strings.FieldsFuncSeq(local, func(r rune) bool { return r == '.' || r == '-' || r == '_' }) {
			if v, ok = compact(cuWord, word); ok {
				return v, false, true
			}
		}
	}
	words := strings.Split(name, "-")
	for _, word := range words {
		if v, ok = compact(cudaWord, word); ok {
			return v, false, true
		}
	}
	v, ok = compact(cuWord, words[len(words)-1])
	return v, true, ok
}

// readCUDA takes a spec of the source CUDA apart.
func readCUDA(spec string) (kind string, v cuda.Version, err error) {
	kind, text, _ := strings.Cut(spec, " ")
	v, ok := cuda.ParseVersion(text)
	if !ok || kind != driverSpec && kind != computeSpec {
		return "", v, fmt.Errorf("%w: it is no requirement over CUDA", matchspec.ErrMatchSpec)
	}
	return kind, v, nil
}

func (n *Node) table() *cuda.Table {
	if n.CUDA != nil {
		return n.CUDA
	}
	return cuda.Default()
}

// checkCUDA judges a requirement of the source CUDA. It binds a node that has a driver
// for CUDA, and no other: what cannot do without a GPU says so itself.
func checkCUDA(r *Requirement, n *Node) Verdict {
	kind, asks, err := readCUDA(r.Spec)
	if err != nil {
		return Verdict{State: Unmet, Problem: unreadable(*r, err).Error()}
	}
	if kind == computeSpec {
		return n.checkCompute(asks)
	}
	v := Verdict{State: Met, Name: "__cuda"}
	has, there := n.Virtuals["__cuda"]
	if there {
		v.Found = &has
	}
	floor, known := n.table().Floor(asks.Major)
	switch {
	case !there && n.Assumed, there && has.Version == "":
		v.State = Assumed
	case !there && n.Driver == "", !known && n.table().Before(asks.Major):
	case n.drives():
		if d, _ := cuda.ParseDriver(n.Driver); !known || d.Compare(floor) < 0 {
			v.State = n.forward(r, Unmet)
		}
	case there: // what the node has was told (CONDA_OVERRIDE_CUDA), or is newer than the table
		if is, ok := cuda.ParseVersion(has.Version); !ok || is.Major < asks.Major {
			v.State = n.forward(r, Unmet)
		}
	}
	return v
}

// drives tells that the node's driver is what its __cuda comes from, or the reason that
// it has none.
func (n *Node) drives() bool {
	if _, ok := cuda.ParseDriver(n.Driver); !ok {
		return false
	}
	serves, known := n.table().Serves(n.Driver)
	has, there := n.Virtuals["__cuda"]
	if !there || !known {
		return there == known
	}
	return has.Version == serves.String()
}

// forward is otherwise, unless cuda-compat in the environment makes up for an old
// driver there.
func (n *Node) forward(r *Requirement, otherwise State) State {
	version, ok := cuda.ParseVersion(r.Compat)
	if r.Compat == "" || !ok {
		return otherwise
	}
	if _, asks, err := readCUDA(r.Spec); err == nil && asks.Major > version.Major {
		return otherwise
	}
	switch n.table().Forward(version, n.Driver, n.GPUs) {
	case cuda.Yes:
		return Met
	case cuda.Unknown:
		return Assumed
	}
	return otherwise
}

// checkCompute compares the lowest compute capability of the node's GPUs with what
// toolkits of a family make code for.
func (n *Node) checkCompute(asks cuda.Version) Verdict {
	v := Verdict{State: Met, Name: "__cuda_arch"}
	least, known := n.table().MinCompute(asks.Major)
	has, there := n.Virtuals["__cuda_arch"]
	_, gpu := n.Virtuals["__cuda"]
	switch {
	case !known:
	case !there && (gpu || n.Assumed), there && has.Version == "":
		v.State = Assumed
	case there:
		v.Found = &has
		if is, ok := cuda.ParseVersion(has.Version); !ok || is.Compare(least) < 0 {
			v.State = Unmet
		}
	}
	return v
}

// lowestGPUs are the models that have the node's lowest compute capability, for people.
func (n *Node) lowestGPUs(compute string) string {
	var names []string
	for _, name := range n.GPUs {
		if c := n.table().ComputeOf(name); c == compute {
			names = append(names, name)
		}
	}
	if len(names) == 0 && len(n.GPUs) == 1 {
		names = n.GPUs
	}
	if len(names) == 0 {
		return "a GPU"
	}
	return strings.Join(names, " and ")
}

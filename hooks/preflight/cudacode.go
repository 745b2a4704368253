package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/needs"
)

// cudaCode: files with code for GPUs of which none runs on those of this node. It is
// believed only of files whose code was read to the end. A file that runs on other GPUs
// alone is ordinary where a package has others beside it; a package without any file
// that has code for this one is not. Of a step that uses no GPU
// nothing is said.
func cudaCode(_ context.Context, in *Input) ([]Finding, error) {
	if in.Needs == nil || !in.UsesGPU() {
		return nil, nil
	}
	var out []Finding
	for _, d := range in.devices() {
		out = append(out, in.codeFor(d)...)
	}
	return out, nil
}

// codeOf a package for one compute capability.
type codeOf struct {
	files int
	// unusable is the first of count files that have no code for it.
	unusable *needs.CUDA
	count    int
}

func (in *Input) codeFor(d device) []Finding {
	packages := map[string]*codeOf{}
	for i := range in.Needs.CUDA {
		c := &in.Needs.CUDA[i]
		if len(c.Code) == 0 && c.Problem == "" {
			continue
		}
		p := packages[c.Package]
		if p == nil {
			p = new(codeOf)
			packages[c.Package] = p
		}
		p.files++
		switch {
		case slices.ContainsFunc(c.Code, func(code string) bool { return runs(code, d.compute) }):
		case c.Problem != "": // there may be more
		default:
			if p.count++; p.unusable == nil {
				p.unusable = c
			}
		}
	}
	if len(packages) == 0 {
		return nil
	}
	var out []Finding
	var some []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		p := packages[name]
		switch {
		case p.count == p.files:
			out = append(out, none(name, p, d))
		case p.count > 0:
			some = append(some, fmt.Sprintf("%s (%d of %d files with such code, %s first)", whose(name), p.count, p.files, p.unusable.File))
		}
	}
	if len(some) > 0 {
		out = append(out, Finding{ID: "cuda-code", Level: Warn, Act: User,
			Evidence: fmt.Sprintf("files have no code for compute capability %s (%s): %s", d.compute, called(d), strings.Join(some, "; ")),
			Next:     "nothing, unless a program ends with \"no kernel image is available\": these files serve other GPUs"})
	}
	if len(out) == 0 {
		out = append(out, Finding{ID: "cuda-code", Level: Fits,
			Evidence: fmt.Sprintf("%d packages have code for compute capability %s (%s)", len(packages), d.compute, called(d))})
	}
	return out
}

// none is the finding about a package without any code for a GPU.
func none(name string, p *codeOf, d device) Finding {
	f := Finding{ID: "cuda-code", Level: Warn, File: p.unusable.File, Act: User,
		Evidence: fmt.Sprintf("%s has no code for compute capability %s (%s): it has %s, in %s", whose(name), d.compute, called(d), strings.Join(p.unusable.Code, ", "), p.unusable.File),
		Next:     "what it runs on such GPUs ends with \"no kernel image is available\"; take a build of it for them, or nodes with other GPUs"}
	if p.count > 1 {
		f.Evidence += fmt.Sprintf(" and %d more files", p.count-1)
	}
	if name != "" {
		f.Packages = []string{name}
	}
	return f
}

func whose(name string) string {
	if name == "" {
		return "a file of no package"
	}
	return name
}

// runs tells whether code of a fat binary can run on GPUs of a compute capability:
// machine code (sm_86) on those with the same major and no lower minor number, PTX
// (compute_80) on all that are not older; with an "a" behind on that one alone, with an
// "f" on its family, of which the major number is all that is known here. What is not
// understood may run.
func runs(code string, on cuda.Version) bool {
	arch, ptx := strings.CutPrefix(code, "compute_")
	if !ptx {
		var machine bool
		if arch, machine = strings.CutPrefix(code, "sm_"); !machine {
			return true
		}
	}
	suffix := strings.TrimLeft(arch, "0123456789")
	number := strings.TrimSuffix(arch, suffix)
	if len(number) < 2 {
		return true
	}
	v, ok := cuda.ParseVersion(number[:len(number)-1] + "." + number[len(number)-1:])
	switch {
	case !ok:
		return true
	case suffix == "a":
		return v == on
	case suffix != "" && suffix != "f":
		return true
	case ptx && suffix == "":
		return v.Compare(on) <= 0
	}
	return v.Major == on.Major && v.Minor <= on.Minor
}

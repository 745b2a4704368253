package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// device is a compute capability of GPUs that the step may use, and what they are
// called.
type device struct {
	compute cuda.Version
	names   []string
}

// devices by compute capability, the lowest first: those that the driver told of and
// that were granted; else what the facts say of all of them together. nil = there are
// none for CUDA, or nothing is known.
func (in *Input) devices() []device {
	f := in.Facts
	if f == nil || f.GPU == nil || f.GPU.Vendor != "nvidia" {
		return nil
	}
	var out []device
	add := func(compute, name string) {
		v, ok := cuda.ParseVersion(compute)
		if !ok {
			return
		}
		i := slices.IndexFunc(out, func(d device) bool { return d.compute == v })
		if i < 0 {
			i, out = len(out), append(out, device{compute: v})
		}
		if name != "" && !slices.Contains(out[i].names, name) {
			out[i].names = append(out[i].names, name)
		}
	}
	if in.GPU != nil && in.GPU.Report != nil {
		for _, g := range in.GPU.Report.GPUs {
			if in.Granted == nil || slices.Contains(in.Granted, g.Index) {
				add(g.Compute, g.Name)
			}
		}
	}
	if out == nil {
		for _, m := range f.GPU.Models {
			compute := in.table().ComputeOf(m.Name)
			if compute == "" && len(f.GPU.Models) == 1 {
				compute = f.GPU.Compute
			}
			add(compute, m.Name)
		}
	}
	if out == nil {
		add(f.GPU.Compute, "")
	}
	slices.SortFunc(out, func(a, b device) int { return a.compute.Compare(b.compute) })
	return out
}

func (in *Input) table() *cuda.Table {
	if in.CUDA != nil {
		return in.CUDA
	}
	return cuda.Default()
}

// cudaNode is what the node is for requirements over CUDA. Of GPUs, those count that
// the step may use.
func (in *Input) cudaNode() requirement.Node {
	n := requirement.Node{Virtuals: map[string]requirement.Virtual{}, CUDA: in.table()}
	for _, v := range facts.Virtuals(in.Facts, in.Override) {
		n.Virtuals[v.Name] = v
	}
	g := in.Facts.GPU
	if g == nil || g.Vendor != "nvidia" {
		return n
	}
	n.Driver = g.Driver
	devices := in.devices()
	for _, d := range devices {
		n.GPUs = append(n.GPUs, d.names...)
	}
	told := false
	if in.Override != nil {
		_, told = in.Override("CONDA_OVERRIDE_CUDA_ARCH")
	}
	if _, has := n.Virtuals["__cuda"]; has && len(devices) > 0 && !told {
		n.Virtuals["__cuda_arch"] = requirement.Virtual{Name: "__cuda_arch", Version: devices[0].compute.String(), Build: "0"}
	}
	return n
}

// cudaIDs are what findings are called, by the virtual package.
var cudaIDs = map[string]string{"__cuda": "cuda-driver", "__cuda_arch": "cuda-compute"}

// cudaRequirements: the driver, and the GPUs' compute capability, against what the
// packages state and were built for.
func cudaRequirements(_ context.Context, in *Input) ([]Finding, error) {
	if in.Facts == nil {
		return nil, nil
	}
	node := in.cudaNode()
	met, unmet := map[string][]requirement.Judged{}, map[string][]requirement.Judged{}
	for _, r := range in.asked() {
		v := requirement.Check(r, node)
		id := cudaIDs[v.Name]
		switch j := (requirement.Judged{Requirement: r, Verdict: v}); {
		case id == "": // another check's, or a spec that nobody can read
		case !v.OK():
			unmet[id] = append(unmet[id], j)
		case v.Found != nil: // else it does not bind this node
			met[id] = append(met[id], j)
		}
	}
	var out []Finding
	for _, id := range []string{"cuda-driver", "cuda-compute"} {
		if list := unmet[id]; list != nil {
			f := cudaFinding(id, list, node)
			f.Level, f.Act, f.Next = Unfit, User, cudaRemedy(id, in)
			out = append(out, f)
		} else if list := met[id]; list != nil {
			f := cudaFinding(id, list, node)
			f.Level = Fits
			in.forward(&f, list, node)
			out = append(out, f)
		}
	}
	return append(out, in.dropped(node)...), nil
}

func cudaFinding(id string, list []requirement.Judged, node requirement.Node) Finding {
	f := Finding{ID: id, Evidence: strings.Join(requirement.Texts(list, node), "; ")}
	for _, j := range list {
		f.Packages = append(f.Packages, j.Requirement.Packages...)
		if note := requirement.Note(j.Requirement, j.Verdict, node); note != "" {
			f.Evidence += "; " + note
		}
	}
	slices.Sort(f.Packages)
	f.Packages = slices.Compact(f.Packages)
	return f
}

func cudaRemedy(id string, in *Input) string {
	const keepOff = "keep off such nodes (--exclude, --constraint), or take another environment of the lock (hpcenv plan shows which fit)"
	if id == "cuda-driver" && in.Facts.GPU != nil {
		return keepOff + "; an administrator can install a newer driver"
	}
	return keepOff
}

// forward warns where an environment fits an old driver only with cuda-compat, and the
// process would not find that: in a prefix that nobody may write to, its activation
// cannot put it among the libraries.
func (in *Input) forward(f *Finding, list []requirement.Judged, node requirement.Node) {
	for _, j := range list {
		r := j.Requirement
		if r.Compat == "" {
			continue
		}
		compat := r.Compat
		r.Compat = ""
		if requirement.Check(r, node).OK() {
			continue // the driver does by itself
		}
		dir := path.Join(in.Prefix, "cuda-compat")
		libraries := ""
		if in.Env != nil {
			libraries, _ = in.Env("LD_LIBRARY_PATH")
		}
		if slices.ContainsFunc(strings.Split(libraries, ":"), func(d string) bool { return path.Clean(d) == dir }) {
			continue
		}
		f.Level, f.Act = Warn, User
		f.Evidence += fmt.Sprintf("; it fits with cuda-compat %s, which is not in LD_LIBRARY_PATH", compat)
		f.Next = fmt.Sprintf("export LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH in the job script", dir)
		return
	}
}

// dropped are GPUs that a driver of the node's branch does not serve any more.
func (in *Input) dropped(node requirement.Node) []Finding {
	d, ok := cuda.ParseDriver(node.Driver)
	if !ok || !in.UsesGPU() {
		return nil
	}
	var out []Finding
	for _, dev := range in.devices() {
		gpu, known := in.table().Of(dev.compute)
		if !known || gpu.LastBranch == 0 || d.Branch() <= gpu.LastBranch {
			continue
		}
		out = append(out, Finding{ID: "cuda-driver", Level: Warn, Act: Administrator,
			Evidence: fmt.Sprintf("has driver %s, and the last branch that serves %s (%s, compute capability %s) is %d", d, called(dev), gpu.Architecture, dev.compute, gpu.LastBranch),
			Next:     fmt.Sprintf("install a driver of branch %d on this node", gpu.LastBranch)})
	}
	return out
}

// called is what people call GPUs of one compute capability.
func called(d device) string {
	if len(d.names) == 0 {
		return "its GPUs"
	}
	return strings.Join(d.names, ", ")
}

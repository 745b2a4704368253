package facts

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// GPUProbe asks for the GPUs of the node below root in one way. nil without
// problems: in that way there are none. problems have a line for what could not
// be read, or is there and not usable.
type GPUProbe interface {
	GPUs(ctx context.Context, root string) (gpu *GPU, problems []string)
}

// DefaultGPUs are the probes that read files: NVIDIA's driver, then AMD's.
func DefaultGPUs() []GPUProbe { return []GPUProbe{nvidiaFiles{}, amdFiles{}} }

// readGPU asks the probes until one knows of a usable GPU.
func readGPU(ctx context.Context, h host) part {
	var p part
	for _, probe := range h.gpus {
		gpu, problems := probe.GPUs(ctx, h.root)
		p.problems = append(p.problems, problems...)
		if gpu != nil {
			p.set = func(f *Facts) { f.GPU = gpu }
			return p
		}
	}
	if len(p.problems) == 0 {
		p.problems = driverless(h.tree)
	}
	return p
}

// CountModels counts names, the most frequent model first.
func CountModels(names []string) []Model {
	var list []Model
	slices.Sort(names)
	for _, n := range names {
		if k := len(list); k > 0 && list[k-1].Name == n {
			list[k-1].Count++
			continue
		}
		list = append(list, Model{Name: n, Count: 1})
	}
	slices.SortStableFunc(list, func(a, b Model) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// gpuVendors by PCI vendor.
var gpuVendors = map[string]string{"0x10de": "NVIDIA", "0x1002": "AMD"}

// driverless names computing devices that no driver serves: the node has GPUs,
// and its jobs would not see them.
func driverless(t tree) []string {
	const bus = "/sys/bus/pci/devices"
	names, err := t.list(bus)
	if err != nil {
		return []string{err.Error()}
	}
	count := map[string]int{}
	for _, n := range names {
		class, err := t.value(bus + "/" + n + "/class")
		// 0x0302: 3D controller, 0x1200: processing accelerator, 0x0380: display
		// controller without a display. Cards with a display output are no news.
		if err != nil || !strings.HasPrefix(class, "0x0302") && !strings.HasPrefix(class, "0x1200") && !strings.HasPrefix(class, "0x0380") {
			continue
		}
		id, err := t.value(bus + "/" + n + "/vendor")
		if err != nil {
			continue
		}
		if vendor := gpuVendors[id]; vendor != "" {
			count[vendor]++
		}
	}
	var problems []string
	for _, vendor := range []string{"AMD", "NVIDIA"} {
		if count[vendor] > 0 {
			problems = append(problems, vendor+" GPUs are on the PCI bus, but their driver is not loaded")
		}
	}
	return problems
}

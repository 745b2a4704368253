package facts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// amdFiles reads the topology that AMD's kernel driver shows.
type amdFiles struct{}

// GPUs implements GPUProbe.
func (amdFiles) GPUs(_ context.Context, root string) (*GPU, []string) {
	const dir = "/sys/class/kfd/kfd/topology/nodes"
	t := newTree(root)
	nodes, err := t.list(dir)
	if err != nil {
		return nil, []string{err.Error()}
	}
	var names, problems []string
	for _, n := range nodes {
		id, err := t.value(dir + "/" + n + "/gpu_id")
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if id == "0" || id == "" {
			continue // a processor; EPERM and "" are GPUs of others' cgroups
		}
		text, err := t.text(dir + "/" + n + "/properties")
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		name := gfxName(property(text, "gfx_target_version"))
		if name == "" {
			problems = append(problems, dir+"/"+n+" tells no architecture")
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, problems
	}
	if p := t.deviceProblem("/dev/kfd"); p != "" {
		return nil, append(problems, "AMD GPUs are there, but "+p)
	}
	gpu := &GPU{Vendor: "amd", Models: CountModels(names)}
	// The driver that is part of the kernel has no version of its own.
	if gpu.Driver, err = t.value("/sys/module/amdgpu/version"); err != nil {
		gpu.Driver = ""
	}
	return gpu, problems
}

// property of a node of the topology: lines of a key and a number.
func property(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && k == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// gfxName is the compiler's name of the architecture: 90010 is gfx90a, 110001 is
// gfx1101; "" = the number is none.
func gfxName(version string) string {
	v, err := strconv.ParseUint(version, 10, 32)
	if err != nil || v < 10000 {
		return ""
	}
	major, minor, step := v/10000, v/100%100, v%100
	if minor > 15 || step > 15 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", major, minor, step)
}

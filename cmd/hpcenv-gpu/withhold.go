package main

import (
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// withhold takes out the GPUs whose device node the caller may not open: in a step
// its cgroup refuses the nodes of the GPUs that were not granted. The nodes are
// open already, by the library, so that opening them wakes nothing.
func withhold(r *gpu.Report, dev string) {
	var granted []gpu.GPU
	for _, g := range r.GPUs {
		if g.Minor == nil {
			// Without a number there is no node to try. That the library may not
			// touch it is the same answer; anything else is the GPU's trouble.
			if has(g.Failures, gpu.CodeNoPermission) {
				r.Withheld = append(r.Withheld, gpu.Withheld{Index: g.Index, Why: "the driver's library may not open it"})
				continue
			}
			granted = append(granted, g)
			continue
		}
		device := fmt.Sprintf("%s/nvidia%d", dev, *g.Minor)
		if err := openable(device); err != nil {
			r.Withheld = append(r.Withheld, gpu.Withheld{Index: g.Index, Device: device, Why: err.Error()})
			continue
		}
		granted = append(granted, g)
	}
	r.GPUs = granted
}

func openable(device string) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

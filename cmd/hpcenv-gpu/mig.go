package main

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// mig: how the GPU is divided. Instances that the library does not show to the
// caller are not listed.
func (l *library) mig(g *gpu.GPU, about string, d nvml.Device) {
	var ret nvml.Return
	current, pending := 0, 0
	if !l.ask(&g.Failures, about, "nvmlDeviceGetMigMode", func() nvml.Return {
		current, pending, ret = d.GetMigMode()
		return ret
	}) {
		return
	}
	g.MIG = &gpu.MIG{Enabled: current == nvml.DEVICE_MIG_ENABLE, Pending: pending == nvml.DEVICE_MIG_ENABLE}
	if !g.MIG.Enabled {
		return
	}
	most := 0
	if !l.ask(&g.Failures, about, "nvmlDeviceGetMaxMigDeviceCount", func() nvml.Return {
		most, ret = d.GetMaxMigDeviceCount()
		return ret
	}) {
		return
	}
	for i := range most {
		var part nvml.Device
		if !l.ask(&g.Failures, about, "nvmlDeviceGetMigDeviceHandleByIndex", func() nvml.Return {
			part, ret = d.GetMigDeviceHandleByIndex(i)
			if ret == nvml.ERROR_NOT_FOUND { // the place is empty
				return nvml.ERROR_NOT_SUPPORTED
			}
			return ret
		}) {
			continue
		}
		g.MIG.Instances = append(g.MIG.Instances, l.instance(g, about, part))
	}
}

func (l *library) instance(g *gpu.GPU, about string, d nvml.Device) gpu.Instance {
	var in gpu.Instance
	var ret nvml.Return
	l.ask(&g.Failures, about, "nvmlDeviceGetUUID", func() nvml.Return {
		in.UUID, ret = d.GetUUID()
		return ret
	})
	l.ask(&g.Failures, about, "nvmlDeviceGetName", func() nvml.Return {
		in.Name, ret = d.GetName()
		return ret
	})
	number := func(symbol string, call func() (int, nvml.Return)) *int {
		n := 0
		if l.ask(&g.Failures, about, symbol, func() nvml.Return {
			n, ret = call()
			return ret
		}) {
			return &n
		}
		return nil
	}
	in.GPU = number("nvmlDeviceGetGpuInstanceId", d.GetGpuInstanceId)
	in.Compute = number("nvmlDeviceGetComputeInstanceId", d.GetComputeInstanceId)
	var m nvml.Memory
	if l.ask(&g.Failures, about, "nvmlDeviceGetMemoryInfo", func() nvml.Return {
		m, ret = d.GetMemoryInfo()
		return ret
	}) {
		in.Memory = m.Total
	}
	return in
}

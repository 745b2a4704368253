package main

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// system asks what is common to all GPUs, then each.
func (l *library) system(r *gpu.Report) {
	var ret nvml.Return
	l.ask(&r.Failures, "", "nvmlSystemGetDriverVersion", func() nvml.Return {
		r.Driver, ret = l.SystemGetDriverVersion()
		return ret
	})
	cuda := 0
	symbol, version := "nvmlSystemGetCudaDriverVersion_v2", l.SystemGetCudaDriverVersion_v2
	if !l.knows(symbol) { // what drivers before 410 have reads a file, but says the same
		symbol, version = "nvmlSystemGetCudaDriverVersion", l.SystemGetCudaDriverVersion
	}
	if l.ask(&r.Failures, "", symbol, func() nvml.Return {
		cuda, ret = version()
		return ret
	}) && cuda > 0 {
		r.CUDA = fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10)
	}
	count := 0
	if !l.ask(&r.Failures, "", "nvmlDeviceGetCount_v2", func() nvml.Return {
		count, ret = l.DeviceGetCount()
		return ret
	}) {
		return
	}
	for i := range count {
		r.GPUs = append(r.GPUs, l.device(i))
	}
}

// device asks one GPU. One that is lost is not asked further: each answer would
// be the same, and may take long.
func (l *library) device(index int) gpu.GPU {
	g := gpu.GPU{Index: index}
	about := fmt.Sprintf(" of GPU %d", index)
	var d nvml.Device
	var ret nvml.Return
	if l.ask(&g.Failures, about, "nvmlDeviceGetHandleByIndex_v2", func() nvml.Return {
		d, ret = l.DeviceGetHandleByIndex(index)
		return ret
	}) {
		for _, part := range []func(*gpu.GPU, string, nvml.Device){
			l.names, l.memory, l.modes, l.errors, l.mig,
		} {
			if part(&g, about, d); has(g.Failures, gpu.CodeLost) {
				break
			}
		}
	}
	g.Lost = has(g.Failures, gpu.CodeLost)
	g.ResetRequired = has(g.Failures, gpu.CodeResetRequired)
	return g
}

func has(list []gpu.Failure, code int) bool {
	for _, f := range list {
		if f.Code == code {
			return true
		}
	}
	return false
}

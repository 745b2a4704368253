package main

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// names: which GPU it is.
func (l *library) names(g *gpu.GPU, about string, d nvml.Device) {
	var ret nvml.Return
	// Where it is comes first: whoever looks for a lost GPU needs that.
	var pci nvml.PciInfo
	if l.ask(&g.Failures, about, "nvmlDeviceGetPciInfo_v3", func() nvml.Return {
		pci, ret = d.GetPciInfo()
		return ret
	}) {
		g.BusID = fmt.Sprintf("%04x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device)
	}
	minor := 0
	if l.ask(&g.Failures, about, "nvmlDeviceGetMinorNumber", func() nvml.Return {
		minor, ret = d.GetMinorNumber()
		return ret
	}) {
		g.Minor = &minor
	}
	l.ask(&g.Failures, about, "nvmlDeviceGetUUID", func() nvml.Return {
		g.UUID, ret = d.GetUUID()
		return ret
	})
	l.ask(&g.Failures, about, "nvmlDeviceGetName", func() nvml.Return {
		g.Name, ret = d.GetName()
		return ret
	})
	major, least := 0, 0
	if l.ask(&g.Failures, about, "nvmlDeviceGetCudaComputeCapability", func() nvml.Return {
		major, least, ret = d.GetCudaComputeCapability()
		return ret
	}) {
		g.Compute = fmt.Sprintf("%d.%d", major, least)
	}
}

func (l *library) memory(g *gpu.GPU, about string, d nvml.Device) {
	var ret nvml.Return
	var m nvml.Memory
	// GPUs that have no memory of their own answer "not supported".
	if l.ask(&g.Failures, about, "nvmlDeviceGetMemoryInfo", func() nvml.Return {
		m, ret = d.GetMemoryInfo()
		return ret
	}) {
		g.Memory = m.Total
	}
}

var computeModes = map[nvml.ComputeMode]string{
	nvml.COMPUTEMODE_DEFAULT: gpu.ModeDefault, nvml.COMPUTEMODE_EXCLUSIVE_THREAD: gpu.ModeExclusiveThread,
	nvml.COMPUTEMODE_PROHIBITED: gpu.ModeProhibited, nvml.COMPUTEMODE_EXCLUSIVE_PROCESS: gpu.ModeExclusiveProcess,
}

// modes: what an administrator set.
func (l *library) modes(g *gpu.GPU, about string, d nvml.Device) {
	var ret nvml.Return
	var mode nvml.ComputeMode
	if l.ask(&g.Failures, about, "nvmlDeviceGetComputeMode", func() nvml.Return {
		mode, ret = d.GetComputeMode()
		return ret
	}) {
		if g.ComputeMode = computeModes[mode]; g.ComputeMode == "" {
			g.ComputeMode = fmt.Sprintf("mode-%d", mode)
		}
	}
	var persistence nvml.EnableState
	if l.ask(&g.Failures, about, "nvmlDeviceGetPersistenceMode", func() nvml.Return {
		persistence, ret = d.GetPersistenceMode()
		return ret
	}) {
		on := persistence == nvml.FEATURE_ENABLED
		g.Persistence = &on
	}
}

// errors: what its memory went through.
func (l *library) errors(g *gpu.GPU, about string, d nvml.Device) {
	var ret nvml.Return
	var rows gpu.Remap
	if l.ask(&g.Failures, about, "nvmlDeviceGetRemappedRows", func() nvml.Return {
		rows.Correctable, rows.Uncorrectable, rows.Pending, rows.Failed, ret = d.GetRemappedRows()
		return ret
	}) {
		g.Remap = &rows
	}
	var pages nvml.EnableState
	if l.ask(&g.Failures, about, "nvmlDeviceGetRetiredPagesPendingStatus", func() nvml.Return {
		pages, ret = d.GetRetiredPagesPendingStatus()
		return ret
	}) {
		pending := pages == nvml.FEATURE_ENABLED
		g.RetirePending = &pending
	}
	var ecc gpu.ECC
	for _, c := range []struct {
		kind nvml.EccCounterType
		to   **uint64
	}{{nvml.VOLATILE_ECC, &ecc.SinceLoad}, {nvml.AGGREGATE_ECC, &ecc.Ever}} {
		n := uint64(0)
		if l.ask(&g.Failures, about, "nvmlDeviceGetTotalEccErrors", func() nvml.Return {
			n, ret = d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, c.kind)
			return ret
		}) {
			*c.to = &n
		}
	}
	if ecc.SinceLoad != nil || ecc.Ever != nil {
		g.ECC = &ecc
	}
}

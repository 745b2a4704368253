package gputest

// Drivers that tests know by name.
func Drivers() map[string]Driver {
	eight := Driver{Version: "535.104.05", CUDA: 12020, GPUs: Same(8, H100), Rules: []Rule{notSupported("nvmlDeviceGetRetiredPagesPendingStatus")}}
	grace := Driver{Version: "550.54.15", CUDA: 12040, GPUs: Same(4, GH200), Rules: eight.Rules}

	list := map[string]Driver{"8xh100": eight, "4xgh200": grace}
	// with is eight H100, the one of index 3 changed.
	with := func(name string, change func(*GPU), rules ...Rule) {
		d := eight
		d.GPUs = append([]GPU(nil), eight.GPUs...)
		if change != nil {
			change(&d.GPUs[3])
		}
		d.Rules = append(append([]Rule(nil), eight.Rules...), rules...)
		list[name] = d
	}
	with("lost", nil, Rule{"nvmlDeviceGetHandleByIndex_v2", 3, 15})
	with("lost-late", nil, Rule{"nvmlDeviceGetMemoryInfo", 3, 15})
	with("reset", nil, Rule{"nvmlDeviceGetHandleByIndex_v2", 3, 16})
	with("remap-failed", func(g *GPU) { g.Remap = [4]int{2, 8, 0, 1} })
	with("remap-pending", func(g *GPU) { g.Remap = [4]int{0, 1, 1, 0} })
	with("ecc", func(g *GPU) { g.ECC = [2]uint64{4, 519} })
	with("prohibited", func(g *GPU) { g.Mode = 2 })
	with("exclusive", func(g *GPU) { g.Mode = 3; g.Persistence = 0 })
	with("silent", nil, Rule{"nvmlDeviceGetUUID", 3, 999})
	with("forbidden", nil, Rule{"nvmlDeviceGetHandleByIndex_v2", 3, 4})
	with("mig", func(g *GPU) {
		g.MIG, g.MIGPending = 1, 1
		g.Parts = []Part{
			{Name: "NVIDIA H100 80GB HBM3 MIG 3g.40gb", UUID: "MIG-00000000-0000-0000-0000-000000000001", GPU: 1, Memory: 42144366592},
			{}, // an empty place
			{Name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb", UUID: "MIG-00000000-0000-0000-0000-000000000002", GPU: 9, Memory: 10468982784},
		}
	})
	with("mig-empty", func(g *GPU) { g.MIG, g.MIGPending = 1, 0 })
	with("mismatch", nil, Rule{"nvmlInit_v2", Any, 18})
	with("not-loaded", nil, Rule{"nvmlInit_v2", Any, 9})
	with("blocked", nil, Rule{"nvmlInit_v2", Any, 17})

	// A driver that is older than half of what is asked.
	old := Driver{Version: "384.183", CUDA: 9000, GPUs: Same(2, GPU{Name: "Tesla P100-PCIE-16GB", Compute: 60, Memory: 17071734784, Persistence: 1}),
		Missing: []string{
			"nvmlSystemGetCudaDriverVersion_v2", "nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex",
			"nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId", "nvmlDeviceGetRemappedRows", "nvmlErrorString",
		},
		Rules: []Rule{notSupported("nvmlDeviceGetTotalEccErrors"), {"nvmlDeviceGetMinorNumber", 1, 999}}}
	list["old"] = old
	// One that has next to nothing: not even what lists GPUs.
	bare := eight
	bare.Missing = []string{"nvmlDeviceGetCount_v2", "nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetDriverVersion"}
	list["bare"] = bare
	// Some other library of that name.
	alien := eight
	alien.Missing = []string{"nvmlInit_v2"}
	list["alien"] = alien
	// The library lists fewer GPUs than the kernel's driver serves.
	fewer := eight
	fewer.GPUs = eight.GPUs[:7]
	list["fewer"] = fewer
	return list
}

func notSupported(call string) Rule { return Rule{call, Any, 3} }

package gpu

import "fmt"

// said is a failure in words.
func said(f *Failure) string { return fmt.Sprintf("%s returned %d (%s)", f.Call, f.Code, f.Text) }

// rule is what a code of the library means.
type rule struct {
	code  int
	id    string
	level Level
	next  string
}

// nodeRules, the first that applies counts.
var nodeRules = []rule{
	{CodeMismatch, "driver-mismatch", Unhealthy, "the driver was upgraded under a running kernel module: reboot the node, or unload and load the nvidia modules"},
	{CodeDriverNotLoaded, "driver-not-loaded", Unhealthy, "load the nvidia module, and look at dmesg for why it was not"},
	{CodeLost, "gpu-lost", Unhealthy, "look at dmesg for Xid 79; drain the node and reboot it"},
	{CodeResetRequired, "gpu-reset-required", Unhealthy, "drain the node and reset its GPUs (nvidia-smi --gpu-reset), or reboot it"},
	{CodeBlocked, "driver-blocked", Unknown, "the operating system or a cgroup keeps the driver's devices from the probe: let the health check run outside of jobs"},
	{CodeNoPermission, "driver-no-permission", Unknown, "run the health check as root, and look at the modes of /dev/nvidia*"},
}

// node judges what is about no single GPU.
func (v *Verdict) node(r *Report) {
	f := Finding{Act: Administrator}
	switch r.State {
	case StateNoLibrary:
		f.ID, f.Level = "library-missing", Unknown
		f.Evidence = "the driver's library libnvidia-ml.so.1 was not found" + firstText(r)
		f.Next = "install it, from the release that the kernel's driver is of (the package that has nvidia-smi); if no driver is loaded, install both"
	case StateBroken:
		f.ID, f.Level = "library-broken", Unhealthy
		f.Evidence = "the driver's library cannot be used" + firstText(r)
		f.Next = "install it anew, for this architecture and from the release that the kernel's driver is of"
	case StateFailed:
		f.ID, f.Level, f.Next = "driver-failed", Unhealthy, "look at dmesg for NVRM; run nvidia-smi; reboot the node"
	case StateOK:
		if len(r.Failures) == 0 {
			return
		}
		f.ID, f.Level, f.Next = "driver-silent", Unknown, "look at dmesg for NVRM; run nvidia-smi"
	}
	if f.Evidence == "" {
		f.Evidence = "the driver did not answer, and the probe does not say why"
		if len(r.Failures) > 0 {
			f.Evidence = said(&r.Failures[0])
		}
		for _, rule := range nodeRules {
			if hit := failed(r.Failures, rule.code); hit != nil {
				f.ID, f.Level, f.Next, f.Evidence = rule.id, rule.level, rule.next, said(hit)
				break
			}
		}
		if r.Library != "" {
			f.Evidence += ", library " + r.Library
		}
	}
	v.add(f)
}

func firstText(r *Report) string {
	text := ""
	for _, f := range r.Failures {
		text += fmt.Sprintf("; %s: %s", f.Call, f.Text)
	}
	return text
}

// gpu judges one GPU.
func (v *Verdict) gpu(g GPU) {
	index := g.Index
	out := GPUVerdict{Index: g.Index, BusID: g.BusID, UUID: g.UUID, Minor: g.Minor, State: Healthy, Level: OK, MIG: g.MIG}
	label := fmt.Sprintf("GPU %d", g.Index)
	if g.BusID != "" {
		label += " (" + g.BusID + ")"
	}
	// find adds a finding; the first that names a state decides it.
	find := func(state, id string, level Level, evidence, next string) {
		v.add(Finding{ID: id, Level: level, GPU: &index, Evidence: label + ": " + evidence, Next: next, Act: Administrator})
		out.Level = worse(out.Level, level)
		if out.State == Healthy && state != "" {
			out.State = state
		}
	}
	known := v.faults(g, find)
	v.memory(g, find)
	v.modes(g, find)
	if !known {
		f := g.Failures[0]
		state := ""
		if g.UUID == "" {
			state = NotKnown
		}
		find(state, "gpu-silent", Unknown, said(&f), "look at dmesg for NVRM and Xid; run nvidia-smi")
	}
	v.GPUs = append(v.GPUs, out)
}

// finder adds a finding about one GPU.
type finder func(state, id string, level Level, evidence, next string)

// faults: calls that failed. False: there are failures, and none says what it is.
func (*Verdict) faults(g GPU, find finder) bool {
	if f := failed(g.Failures, CodeLost); g.Lost {
		evidence := "it is lost"
		if f != nil {
			evidence = said(f)
		}
		find(Lost, "gpu-lost", Unhealthy, evidence, "look at dmesg for Xid 79 (fallen off the bus); drain the node and reboot it; if it comes back, have the GPU replaced")
		return true
	}
	if f := failed(g.Failures, CodeResetRequired); g.ResetRequired {
		evidence := "it must be reset"
		if f != nil {
			evidence = said(f)
		}
		find(ResetRequired, "gpu-reset-required", Unhealthy, evidence, fmt.Sprintf("drain the node, then nvidia-smi --gpu-reset -i %d, or reboot", g.Index))
		return true
	}
	for _, code := range []int{CodeBlocked, CodeNoPermission} {
		if f := failed(g.Failures, code); f != nil {
			find(NotKnown, "gpu-not-permitted", Unknown, said(f), "run the health check as root and outside of jobs' cgroups; look at the modes of /dev/nvidia*")
			return true
		}
	}
	return len(g.Failures) == 0
}

// memory: errors that it had.
func (*Verdict) memory(g GPU, find finder) {
	const reset = "let its jobs end, then reset it (nvidia-smi --gpu-reset) or reboot"
	if r := g.Remap; r != nil && r.Failed {
		find(RemapFailed, "gpu-remap-failed", Unhealthy, fmt.Sprintf("a row of its memory could not be replaced (%d uncorrectable, %d correctable were)", r.Uncorrectable, r.Correctable),
			"drain the node and have the GPU replaced")
	} else if r != nil && r.Pending {
		find("", "gpu-remap-pending", Warn, "rows of its memory are to be replaced at the next reset", reset)
	}
	if g.RetirePending != nil && *g.RetirePending {
		find("", "gpu-retire-pending", Warn, "pages of its memory are to be retired at the next reset", reset)
	}
	if e := g.ECC; e != nil && e.SinceLoad != nil && *e.SinceLoad > 0 {
		evidence := fmt.Sprintf("%d errors of its memory since the driver was loaded could not be corrected", *e.SinceLoad)
		if e.Ever != nil {
			evidence += fmt.Sprintf(", %d ever", *e.Ever)
		}
		find("", "gpu-ecc-uncorrectable", Warn, evidence, reset+"; if they come back, have it tested (dcgmi diag -r 3)")
	}
}

// modes: how it is set up.
func (*Verdict) modes(g GPU, find finder) {
	switch g.ComputeMode {
	case ModeProhibited:
		find(Unusable, "gpu-compute-prohibited", Unhealthy, "its compute mode is prohibited: no program can use it", fmt.Sprintf("nvidia-smi -i %d -c DEFAULT", g.Index))
	case ModeExclusiveProcess, ModeExclusiveThread:
		find("", "gpu-compute-exclusive", Warn, "its compute mode is "+g.ComputeMode+": one process at a time, so that ranks cannot share it",
			fmt.Sprintf("nvidia-smi -i %d -c DEFAULT, or run MPS, or one rank per GPU", g.Index))
	}
	if m := g.MIG; m != nil && m.Enabled && len(m.Instances) == 0 {
		find(Unusable, "gpu-mig-empty", Warn, "it is in MIG mode and has no instance: no program can use it until one is made", fmt.Sprintf("nvidia-smi mig -i %d -cgi PROFILE -C, or nvidia-smi -i %d -mig 0", g.Index, g.Index))
	}
	if m := g.MIG; m != nil && m.Enabled != m.Pending {
		find("", "gpu-mig-pending", Warn, fmt.Sprintf("MIG is %s, and will be %s after a reset", onOff(m.Enabled), onOff(m.Pending)), "let its jobs end, then reset it (nvidia-smi --gpu-reset) or reboot")
	}
	if g.Persistence != nil && !*g.Persistence {
		find("", "gpu-persistence-off", Warn, "persistence mode is off: the first program of each job waits for the driver to start", "systemctl enable --now nvidia-persistenced")
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

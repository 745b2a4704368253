package facts

import "strings"

// platforms are the conda subdirs of the machines that hpcenv serves.
var platforms = map[string]string{"x86_64": "linux-64", "aarch64": "linux-aarch64"}

func setMachine(f *Facts, machine string) {
	f.Machine, f.Platform = machine, platforms[machine]
}

// readMachine is the architecture as uname -m says: this host's from the kernel,
// a recorded one's from /proc/sys/kernel/arch (Linux 6.1) or from the form of its
// cpuinfo. "" = not known.
func readMachine(t tree) string {
	if t.live {
		if m := uname(); m != "" {
			return m
		}
	}
	if m, err := t.value("/proc/sys/kernel/arch"); err == nil && m != "" {
		return m
	}
	text, err := t.head("/proc/cpuinfo", maxStanza)
	if err != nil {
		return ""
	}
	return machineOf(stanza(text))
}

// machineOf tells the architecture by the keys of a stanza of cpuinfo.
func machineOf(cpu map[string]string) string {
	has := func(key string) bool { _, ok := cpu[key]; return ok }
	switch {
	case has("CPU implementer") && cpu["CPU architecture"] != "7":
		return "aarch64"
	case has("flags") && contains(cpu["flags"], "lm"): // long mode
		return "x86_64"
	case has("flags"):
		return "i686"
	case strings.HasPrefix(cpu["isa"], "rv64"):
		return "riscv64"
	}
	return ""
}

// contains: word is among the blank-separated words of s.
func contains(s, word string) bool {
	for w := range strings.FieldsSeq(s) {
		if w == word {
			return true
		}
	}
	return false
}

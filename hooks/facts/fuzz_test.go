package facts

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// FuzzParsers gives one text to every parser of a file: none may panic, and what
// they return must be something that a node can have.
func FuzzParsers(f *testing.F) {
	for _, s := range []string{
		"vendor_id : GenuineIntel\nflags : fpu sse sse2 ssse3 lm\n\nprocessor : 1\n", "CPU implementer : 0x41\nFeatures : fp asimd\nCPU part : 0xd4f\n",
		"200 Gb/sec (4X HDR)", "4: ACTIVE", "100000", "KernelPageSize:       64 kB\n",
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat\n", "Model: \t NVIDIA H100\nDevice Minor: \t 3\n",
		"CONFIG_SQUASHFS=m\nCONFIG_SQUASHFS_ZSTD=y\n", "gfx_target_version 90010\n", "5.14.0-427.el9", "GNU C Library (x) stable release version 2.36.\n",
		`{"gpu": {"driver": "580.65.06"}, "cpu": {"name": "zen4"}}`, `{"networks": null, "gpu": []}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		first := stanza(s)
		if m := machineOf(first); m != "" && !slices.Contains([]string{"x86_64", "aarch64", "i686", "riscv64"}, m) {
			t.Errorf("machine %q", m)
		}
		for _, family := range []string{"x86_64", "aarch64"} {
			cpu := identify(cpuInfo{family: family, vendor: first["vendor_id"], part: first["CPU part"], features: s})
			if n := len(cpu.Ancestors); n == 0 || cpu.Ancestors[n-1] != family || cpu.Name != "" && cpu.Ancestors[0] != cpu.Name {
				t.Errorf("%+v", cpu)
			}
		}
		if r := parseRate(s); !(r >= 0 && r <= maxRate) {
			t.Errorf("rate %g", r)
		}
		if r := parseSpeed(s); !(r >= 0 && r <= maxRate) {
			t.Errorf("speed %g", r)
		}
		if portActive(s) && !strings.Contains(s, "4") {
			t.Error("active without a 4")
		}
		if n := pageSize(s); n != 0 && (n < 4096 || n > 65536 || n&(n-1) != 0) {
			t.Errorf("page size %d", n)
		}
		if v := nvidiaVersion(s); v != "" && (!isDriverVersion(v) || !strings.Contains(s, v)) {
			t.Errorf("driver %q", v)
		}
		if model, minor := nvidiaInformation(s); !strings.Contains(s, model) || strings.Trim(minor, "0123456789") != "" {
			t.Errorf("model %q, minor %q", model, minor)
		}
		if c := CUDAOf(s); c != "" {
			if _, ok := majorMinor(c); !ok {
				t.Errorf("CUDA %q", c)
			}
		}
		if q := parseConfig(s); q.Mounts != Yes && len(q.Compressors) > 0 {
			t.Errorf("%+v", q)
		}
		if g := gfxName(property(s, "gfx_target_version")); g != "" && !strings.HasPrefix(g, "gfx") {
			t.Errorf("architecture %q", g)
		}
		if v := linuxVersion(s); strings.Trim(v, "0123456789.") != "" || !strings.HasPrefix(s, v) {
			t.Errorf("__linux %q", v)
		}
		if b := banner([]byte(s)); b[0] < 0 || b[1] < 0 {
			t.Errorf("banner %v", b)
		}
		if _, err := gunzip(s); err == nil && len(s) < 18 {
			t.Error("a gzip file without its trailer")
		}
		before := &Facts{Version: Version, Machine: "x86_64", Squashfs: Squashfs{Mounts: No}, GPU: &GPU{Vendor: "nvidia"}}
		if after, err := merged(before, []byte(s)); err == nil {
			if after.Version != Version || len(after.Problems) > 0 {
				t.Errorf("an override changed what is not its: %+v", after)
			}
			if _, err := json.Marshal(after); err != nil {
				t.Error(err)
			}
		}
	})
}

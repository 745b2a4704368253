// Package gputest makes GPU drivers for tests: a table becomes a C library that
// answers as NVIDIA's libnvidia-ml.so.1 does, and that the real child program
// loads.
//
// Enters: a Driver. Leaves: a library (Library, Compile), the child program
// (Program), a node's files (Node). It is for tests only.
package gputest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a Rule makes a call do; 0 and above are codes to return.
const (
	Hang  = -1 // sleep for ever
	Deaf  = -2 // the same, with all signals blocked that can be
	Crash = -3
	Exit  = -4 // end the process with 0
	Block = -5 // read from Driver.Block, then answer
	Spawn = -6 // leave a process that keeps the pipes open, then answer
	Noise = -7 // print on standard output, then answer
)

// Any GPU, or a call about none.
const Any = -1

// Rule is an exception from the table.
type Rule struct {
	Call string
	GPU  int
	Do   int
}

// Driver is a table.
type Driver struct {
	Version string
	// CUDA as NVML has it: 12020 is 12.2.
	CUDA int
	GPUs []GPU
	// Missing are functions that the library has not.
	Missing []string
	Rules   []Rule
	// Block is the file that rules with Block read.
	Block string
}

// GPU of a Driver. Compute 90 is 9.0. Remap: correctable, uncorrectable, pending,
// failed. ECC: uncorrected since the driver was loaded, and ever.
type GPU struct {
	Name, UUID  string
	Domain, Bus int
	Minor       int
	Compute     int
	Memory      uint64
	Mode        int
	Persistence int
	MIG         int
	MIGPending  int
	Parts       []Part
	Remap       [4]int
	Retire      int
	ECC         [2]uint64
}

// Part of a GPU in MIG mode; one without a name is an empty place.
type Part struct {
	Name, UUID   string
	GPU, Compute int
	Memory       uint64
}

// parts is how many instances a GPU can have.
const parts = 7

//go:embed testdata/nvml.c
var source string

// Same is n GPUs of one kind, in places of their own.
func Same(n int, g GPU) []GPU {
	list := make([]GPU, n)
	for i := range list {
		list[i] = g
		list[i].Minor, list[i].Bus = i, 0x18+0x11*i
		list[i].UUID = fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", i)
	}
	return list
}

// H100 and GH200 as their drivers describe them.
var (
	H100 = GPU{Name: "NVIDIA H100 80GB HBM3", Compute: 90, Memory: 85520809984, Persistence: 1}
	// GH200s lie in PCI domains of their own.
	GH200 = GPU{Name: "NVIDIA GH200 120GB", Domain: 9, Compute: 90, Memory: 102625181696, Persistence: 1}
)

// table is the generated header.
func (d Driver) table() string {
	var b strings.Builder
	f := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	f("#define FAKE_DRIVER %q\n#define FAKE_CUDA %d\n#define FAKE_COUNT %d\n#define FAKE_PARTS %d\n#define FAKE_BLOCK %q\n",
		d.Version, d.CUDA, len(d.GPUs), parts, d.Block)
	f("enum { ACT_HANG = %d, ACT_DEAF = %d, ACT_CRASH = %d, ACT_EXIT = %d, ACT_BLOCK = %d, ACT_SPAWN = %d, ACT_NOISE = %d };\n",
		Hang, Deaf, Crash, Exit, Block, Spawn, Noise)
	for _, m := range d.Missing {
		f("#define MISSING_%s\n", m)
	}
	f("struct fake_rule { const char *call; int gpu, act; };\nstatic const struct fake_rule rules[] = {\n")
	for _, r := range d.Rules {
		f("\t{%q, %d, %d},\n", r.Call, r.GPU, r.Do)
	}
	f("\t{0}\n};\n")
	f("struct fake_part { const char *name, *uuid; unsigned gpu, compute; unsigned long long memory; };\n")
	f("struct fake_gpu { const char *name, *uuid; unsigned domain, bus, minor, compute; unsigned long long memory; int mode, persistence;\n")
	f("\tunsigned mig, mig_pending, remap[4]; int retire; unsigned long long ecc[2]; struct fake_part parts[%d]; };\n", parts)
	f("static const struct fake_gpu gpus[] = {\n")
	for _, g := range d.GPUs {
		f("\t{%q, %q, %d, %d, %d, %d, %dULL, %d, %d, %d, %d, {%d, %d, %d, %d}, %d, {%dULL, %dULL}, {", g.Name, g.UUID, g.Domain, g.Bus, g.Minor, g.Compute,
			g.Memory, g.Mode, g.Persistence, g.MIG, g.MIGPending, g.Remap[0], g.Remap[1], g.Remap[2], g.Remap[3], g.Retire, g.ECC[0], g.ECC[1])
		for _, p := range g.Parts {
			if p.Name == "" {
				f("{0}, ")
				continue
			}
			f("{%q, %q, %d, %d, %dULL}, ", p.Name, p.UUID, p.GPU, p.Compute, p.Memory)
		}
		f("{0}}},\n")
	}
	f("\t{0}\n};\n")
	return b.String()
}

// Compile writes DIR/libnvidia-ml.so.1, made by the C compiler cc, and returns its
// path.
func Compile(dir, cc string, d Driver) (string, error) {
	c := filepath.Join(dir, "nvml.c")
	if err := os.WriteFile(c, []byte(d.table()+source), 0o644); err != nil {
		return "", err
	}
	lib := filepath.Join(dir, "libnvidia-ml.so.1")
	out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wno-unused", "-o", lib, c).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cc, err, out)
	}
	return lib, nil
}

// Library is Compile for this host, in a directory of the test's.
func Library(t testing.TB, d Driver) string {
	t.Helper()
	lib, err := Compile(t.TempDir(), Compiler(t), d)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// Compiler is the C compiler; the test is skipped where there is none.
func Compiler(t testing.TB) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("SKIPPED: gcc is not installed, which makes the GPU drivers of these tests")
	}
	return cc
}

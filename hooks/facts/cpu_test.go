package facts_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// TestRecordedProcessors gives every processor that archspec recorded the name
// that archspec gives it. testdata/cpuinfo.txt is made by archgen.
func TestRecordedProcessors(t *testing.T) {
	f, err := os.Open("testdata/cpuinfo.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		if len(w) == 0 || w[0] == "#" {
			continue
		}
		if len(w) != 4 {
			t.Fatalf("a line of cpuinfo.txt has %d words", len(w))
		}
		n++
		name, vendor, part, flags := w[0], w[1], w[2], strings.ReplaceAll(w[3], ",", " ")
		want := name[strings.LastIndex(name, "-")+1:]
		t.Run(name, func(t *testing.T) {
			var info string
			if strings.HasPrefix(vendor, "0x") {
				info = fmt.Sprintf("processor\t: 0\nFeatures\t: %s\nCPU implementer\t: %s\nCPU architecture: 8\nCPU part\t: %s\n\n", flags, vendor, part)
			} else {
				info = fmt.Sprintf("processor\t: 0\nvendor_id\t: %s\nflags\t\t: %s\n\nprocessor\t: 1\nflags\t\t: lm\n", vendor, flags)
			}
			cpu := read(t, "-- proc/cpuinfo --\n"+info).CPU
			if cpu.Name != want {
				t.Errorf("got %s (%s), want %s", cpu.Name, cpu.Because, want)
			}
			if len(cpu.Ancestors) == 0 || cpu.Ancestors[0] != cpu.Name {
				t.Errorf("ancestors %q do not begin with the name", cpu.Ancestors)
			}
			if cpu.Level > 0 != slices.Contains(cpu.Ancestors, "x86_64") {
				t.Errorf("level %d with ancestors %q", cpu.Level, cpu.Ancestors)
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if n < 30 {
		t.Errorf("only %d recorded processors", n)
	}
}

// flagsOf the recorded Sapphire Rapids without some.
func sapphire(t *testing.T, without ...string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/cpuinfo.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if w := strings.Fields(line); w[0] == "linux-unknown-sapphirerapids" {
			flags := slices.DeleteFunc(strings.Split(w[3], ","), func(f string) bool { return slices.Contains(without, f) })
			return strings.Join(flags, " ")
		}
	}
	t.Fatal("no sapphirerapids among the recorded processors")
	return ""
}

func TestProcessorLacks(t *testing.T) {
	for _, c := range []struct {
		vendor  string
		without []string
		name    string
		level   int
		because string
	}{
		{"GenuineIntel", nil, "sapphirerapids", 4, ""},
		{"GenuineIntel", []string{"amx_tile"}, "icelake", 4, "no sapphirerapids: it lacks amx_tile"},
		// A feature that virtual machines hide costs the name; the reason says so.
		{"GenuineIntel", []string{"avx512f"}, "alderlake", 3, ""},
		{"GenuineIntel", []string{"avx2", "avx512f"}, "ivybridge", 2, "no haswell: it lacks avx2"},
		{"GenuineIntel", []string{"ssse3"}, "x86_64", 1, ""},
		{"AuthenticAMD", nil, "x86_64_v4", 4, ""}, // another maker's: the generic name
		{"SomeoneNew", []string{"avx512bw"}, "x86_64_v3", 3, "no x86_64_v4: it lacks avx512bw"},
	} {
		cpu := read(t, "-- proc/cpuinfo --\nvendor_id : "+c.vendor+"\nflags : "+sapphire(t, c.without...)+"\n").CPU
		if cpu.Name != c.name || cpu.Level != c.level || !strings.Contains(cpu.Because, c.because) {
			t.Errorf("%s without %q: %s level %d, %q; want %s level %d, %q", c.vendor, c.without, cpu.Name, cpu.Level, cpu.Because, c.name, c.level, c.because)
		}
	}
}

// TestProcessorUnread: what cannot be named still is of its family.
func TestProcessorUnread(t *testing.T) {
	for _, text := range []string{
		"file /proc/sys/kernel/arch x86_64\n",
		"file /proc/sys/kernel/arch x86_64\nunreadable /proc/cpuinfo\n",
		"file /proc/sys/kernel/arch x86_64\nfile /proc/cpuinfo processor : 0\n",
	} {
		f := read(t, text)
		if f.Platform != "linux-64" || f.CPU.Name != "" || !slices.Equal(f.CPU.Ancestors, []string{"x86_64"}) {
			t.Errorf("%s: platform %q, %+v", text, f.Platform, f.CPU)
		}
		if !hasProblem(f, "processor: ") {
			t.Errorf("%s: no problem of the processor in %q", text, f.Problems)
		}
	}
}

// TestUnservedMachine: facts of others are read as far as they go.
func TestUnservedMachine(t *testing.T) {
	f := read(t, "file /proc/sys/kernel/arch ppc64le\nfile /proc/cpuinfo cpu : POWER9\nfile /proc/sys/kernel/osrelease 5.14.0\n")
	if f.Machine != "ppc64le" || f.Platform != "" || f.Kernel != "5.14.0" || f.CPU.Name != "" {
		t.Errorf("%+v", f)
	}
}

func TestAncestors(t *testing.T) {
	if got := facts.Ancestors("x86_64_v3"); !slices.Equal(got, []string{"x86_64_v3", "x86_64_v2", "x86_64"}) {
		t.Errorf("x86_64_v3: %q", got)
	}
	// Grace is no superset of Neoverse V1 (it has no rng).
	if got := facts.Ancestors("neoverse_v2"); slices.Contains(got, "neoverse_v1") || !slices.Contains(got, "neoverse_n1") || got[len(got)-1] != "aarch64" {
		t.Errorf("neoverse_v2: %q", got)
	}
	if got := facts.Ancestors("z80"); got != nil {
		t.Errorf("z80: %q", got)
	}
}

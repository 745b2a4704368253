package gpu

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

// long is a limit that only a driver that hangs reaches.
const long = time.Minute

func probe(t *testing.T, d gputest.Driver) *Report {
	t.Helper()
	r, err := Probe(t.Context(), Options{Program: gputest.Program(t), Library: gputest.Library(t, d), Limit: long})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ids of findings, each with the GPU that it is about.
func ids(v Verdict) []string {
	var list []string
	for _, f := range v.Findings {
		id := f.ID
		if f.GPU != nil {
			id += fmt.Sprintf("@%d", *f.GPU)
		}
		list = append(list, id)
	}
	return list
}

// TestDrivers: the real child asks each driver; the verdict names what is wrong,
// and nothing else.
func TestDrivers(t *testing.T) {
	for _, c := range []struct {
		name     string
		level    Level
		findings []string
		state    string // of GPU 3, where there is one
		says     string // in the findings
	}{
		{"8xh100", OK, nil, Healthy, ""},
		{"4xgh200", OK, nil, Healthy, ""},
		{"lost", Unhealthy, []string{"gpu-lost@3"}, Lost, "nvmlDeviceGetHandleByIndex_v2 returned 15 (GPU is lost)"},
		{"lost-late", Unhealthy, []string{"gpu-lost@3"}, Lost, "GPU 3 (0000:4b:00.0): nvmlDeviceGetMemoryInfo returned 15"},
		{"reset", Unhealthy, []string{"gpu-reset-required@3"}, ResetRequired, "returned 16 (GPU requires reset); next: drain the node, then nvidia-smi --gpu-reset -i 3"},
		{"remap-failed", Unhealthy, []string{"gpu-remap-failed@3"}, RemapFailed, "8 uncorrectable, 2 correctable"},
		{"remap-pending", Warn, []string{"gpu-remap-pending@3"}, Healthy, ""},
		{"ecc", Warn, []string{"gpu-ecc-uncorrectable@3"}, Healthy, "4 errors of its memory since the driver was loaded could not be corrected, 519 ever"},
		{"prohibited", Unhealthy, []string{"gpu-compute-prohibited@3"}, Unusable, ""},
		{"exclusive", Warn, []string{"gpu-compute-exclusive@3", "gpu-persistence-off@3"}, Healthy, "exclusive-process"},
		{"silent", Unknown, []string{"gpu-silent@3"}, NotKnown, "nvmlDeviceGetUUID returned 999"},
		{"forbidden", Unknown, []string{"gpu-not-permitted@3"}, NotKnown, ""},
		{"mig", OK, nil, Healthy, ""},
		{"mig-empty", Warn, []string{"gpu-mig-empty@3", "gpu-mig-pending@3"}, Unusable, "MIG is on, and will be off after a reset"},
		{"mismatch", Unhealthy, []string{"driver-mismatch"}, "", "nvmlInit_v2 returned 18 (Driver/library version mismatch)"},
		{"not-loaded", Unhealthy, []string{"driver-not-loaded"}, "", "returned 9"},
		{"blocked", Unknown, []string{"driver-blocked"}, "", ""},
		{"old", Unknown, []string{"gpu-silent@1"}, "", "nvmlDeviceGetMinorNumber returned 999 (no text)"},
		{"bare", Unhealthy, []string{"gpu-missing"}, "", "serves 8 GPUs, its library lists 0"},
		{"alien", Unhealthy, []string{"library-broken"}, "", "dlsym nvmlInit"},
		{"fewer", Unhealthy, []string{"gpu-missing"}, Healthy, "0000:8f:00.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := gputest.Drivers()[c.name]
			kernel := d
			if c.name == "fewer" {
				kernel = gputest.Drivers()["8xh100"]
			}
			id, err := Identify(gputest.Node(t, kernel))
			if err != nil {
				t.Fatal(err)
			}
			v := Judge(Evidence{Report: probe(t, d), Served: id.GPUs})
			if v.Level != c.level || !slices.Equal(ids(v), c.findings) {
				t.Errorf("%s %q, want %s %q: %v", v.Level, ids(v), c.level, c.findings, v.Findings)
			}
			text := ""
			for _, f := range v.Findings {
				if f.Evidence == "" || f.Next == "" || f.Act == "" {
					t.Errorf("%s does not say what was found, what to do or who must: %+v", f.ID, f)
				}
				text += f.String() + "\n"
			}
			if !strings.Contains(text, c.says) {
				t.Errorf("the findings do not say %q:\n%s", c.says, text)
			}
			for _, g := range v.GPUs {
				want := Healthy
				if g.Index == 3 {
					want = c.state
				}
				if g.State != want && c.name != "old" {
					t.Errorf("GPU %d is %s, want %s", g.Index, g.State, want)
				}
			}
			if c.state != "" && len(v.GPUs) != len(d.GPUs) {
				t.Errorf("%d verdicts on %d GPUs", len(v.GPUs), len(d.GPUs))
			}
		})
	}
}

// TestReport: all that is asked arrives.
func TestReport(t *testing.T) {
	d := gputest.Drivers()["mig"]
	r := probe(t, d)
	if r.State != StateOK || r.Driver != "535.104.05" || r.CUDA != "12.2" || r.Vendor != "nvidia" || len(r.Missing)+len(r.Failures) > 0 ||
		filepath.Base(r.Library) != "libnvidia-ml.so.1" || len(r.GPUs) != 8 {
		t.Errorf("%+v", r)
	}
	is := func(n int) *int { return &n }
	yes, zero := true, uint64(0)
	want := GPU{Index: 3, Minor: is(3), Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-0000-0000-000000000003", BusID: "0000:4b:00.0",
		Compute: "9.0", Memory: 85520809984, ComputeMode: ModeDefault, Persistence: &yes, Remap: &Remap{}, ECC: &ECC{SinceLoad: &zero, Ever: &zero},
		MIG: &MIG{Enabled: true, Pending: true, Instances: []Instance{
			{Name: "NVIDIA H100 80GB HBM3 MIG 3g.40gb", UUID: "MIG-00000000-0000-0000-0000-000000000001", GPU: is(1), Compute: is(0), Memory: 42144366592},
			{Name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb", UUID: "MIG-00000000-0000-0000-0000-000000000002", GPU: is(9), Compute: is(0), Memory: 10468982784},
		}}}
	if diff := cmp.Diff(want, r.GPUs[3]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m := r.GPUs[4].MIG; m == nil || m.Enabled || m.Instances != nil {
		t.Errorf("an undivided GPU: %+v", m)
	}
}

// TestOldDriver: functions that the library has not are not known, and calling none
// of them ends the child.
func TestOldDriver(t *testing.T) {
	r := probe(t, gputest.Drivers()["old"])
	if r.State != StateOK || r.Driver != "384.183" || r.CUDA != "9.0" || len(r.GPUs) != 2 {
		t.Errorf("%+v", r)
	}
	if want := []string{"nvmlDeviceGetMigMode", "nvmlDeviceGetRemappedRows", "nvmlSystemGetCudaDriverVersion_v2"}; !slices.Equal(r.Missing, want) {
		t.Errorf("missing %q, want %q", r.Missing, want)
	}
	g := r.GPUs[0]
	if g.MIG != nil || g.Remap != nil || g.ECC != nil || g.RetirePending == nil || *g.RetirePending || g.Compute != "6.0" || len(g.Failures) > 0 {
		t.Errorf("%+v", g)
	}
}

// TestEachFunctionMissing: whichever function a driver lacks, the child ends well.
func TestEachFunctionMissing(t *testing.T) {
	mig := gputest.Drivers()["mig"]
	source, err := os.ReadFile("gputest/testdata/nvml.c")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for line := range strings.Lines(string(source)) {
		symbol, ok := strings.CutPrefix(strings.TrimSpace(line), "#ifndef MISSING_")
		if !ok {
			continue
		}
		tried++
		t.Run(symbol, func(t *testing.T) {
			t.Parallel()
			d := mig
			d.Missing = []string{symbol}
			r := probe(t, d)
			switch {
			case symbol == "nvmlInit_v2":
				if r.State != StateBroken {
					t.Errorf("state %s", r.State)
				}
			case r.State != StateOK:
				t.Errorf("state %s: %+v", r.State, r.Failures)
			case !slices.Contains([]string{"nvmlShutdown", "nvmlErrorString", "nvmlSystemGetCudaDriverVersion"}, symbol) && !slices.Equal(r.Missing, d.Missing):
				t.Errorf("missing %q", r.Missing)
			}
		})
	}
	if tried < 20 {
		t.Errorf("only %d functions were found in the source", tried)
	}
}

func TestNoLibrary(t *testing.T) {
	program := gputest.Program(t)
	dir := t.TempDir()
	absent := filepath.Join(dir, "libnvidia-ml.so.1")
	r, err := Probe(t.Context(), Options{Program: program, Library: absent, Limit: long})
	if err != nil {
		t.Fatal(err)
	}
	if v := Judge(Evidence{Report: r}); r.State != StateNoLibrary || !slices.Equal(ids(v), []string{"library-missing"}) || !strings.Contains(v.Findings[0].Evidence, absent) {
		t.Errorf("%+v %+v", r, v)
	}
	if err := os.WriteFile(absent, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = Probe(t.Context(), Options{Program: program, Library: absent, Limit: long}); err != nil {
		t.Fatal(err)
	}
	if v := Judge(Evidence{Report: r}); r.State != StateBroken || !slices.Equal(ids(v), []string{"library-broken"}) {
		t.Errorf("%+v %+v", r, v)
	}
	if v := Judge(Evidence{}); v.Level != OK || v.Findings != nil {
		t.Errorf("a node without GPUs: %+v", v)
	}
}

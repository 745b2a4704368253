package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/hooks/preflight"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

func of(pairs ...string) func(string) (string, bool) { return Lookup(pairs) }

func TestGranted(t *testing.T) {
	report := &gpu.Report{}
	for i := range 4 {
		minor := 3 - i // the driver counts the other way round
		report.GPUs = append(report.GPUs, gpu.GPU{Index: i, Minor: &minor, UUID: "GPU-" + strings.Repeat(string(rune('a'+i)), 8)})
	}
	report.GPUs[3].Minor = nil // it is lost
	divided := &gpu.Report{GPUs: []gpu.GPU{{Index: 0, UUID: "GPU-a", MIG: &gpu.MIG{Enabled: true, Instances: []gpu.Instance{{UUID: "MIG-1"}, {UUID: "MIG-2"}}}}, {Index: 1, UUID: "GPU-b"}}}
	for _, c := range []struct {
		name   string
		env    func(string) (string, bool)
		batch  bool
		report *gpu.Report
		some   bool
		want   []int
	}{
		{"nothing", of(), false, report, false, nil},
		{"a step's", of("SLURM_JOB_ID=1", "SLURM_STEP_GPUS=1,2"), false, report, true, []int{2, 1}},
		{"ranges", of("SLURM_JOB_ID=1", "SLURM_STEP_GPUS=1-3"), false, report, true, []int{2, 1, 0}},
		{"a lost one", of("SLURM_JOB_ID=1", "SLURM_STEP_GPUS=0"), false, report, true, []int{0}},
		{"the script's", of("SLURM_JOB_ID=1", "SLURM_JOB_GPUS=3"), true, report, true, []int{0}},
		{"of the script, in a step", of("SLURM_JOB_ID=1", "SLURM_JOB_GPUS=3"), false, report, false, nil},
		{"confined", of("SLURM_JOB_ID=1", "CUDA_VISIBLE_DEVICES=0"), false, report, false, nil},
		{"by name", of("SLURM_JOB_ID=1", "CUDA_VISIBLE_DEVICES=GPU-bbbb"), false, report, true, []int{1}},
		{"no job", of("CUDA_VISIBLE_DEVICES=2"), false, report, true, []int{1}},
		{"parts by number", of("SLURM_JOB_ID=1", "SLURM_STEP_GPUS=5"), false, divided, true, []int{}},
		{"parts by name", of("SLURM_JOB_ID=1", "CUDA_VISIBLE_DEVICES=MIG-2"), false, divided, true, []int{0}},
		{"no report", of("SLURM_JOB_ID=1", "SLURM_STEP_GPUS=5"), false, nil, true, nil},
		{"nonsense", of("SLURM_JOB_ID=1", "SLURM_STEP_GPUS=a-b"), false, report, true, nil},
	} {
		g := Granted(c.env, c.batch)
		got := g.Indices(c.report)
		if g.Some != c.some || !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %v %v", c.name, g.Some, got)
		}
	}
}

func TestJudge(t *testing.T) {
	fits := preflight.Finding{ID: "glibc", Level: preflight.Fits}
	unfit := preflight.Finding{ID: "glibc", Level: preflight.Unfit, Evidence: "has glibc 2.31, needs __glibc >=2.34 (new 3.1)", Next: "exclude", Act: preflight.User}
	sick := preflight.Finding{ID: "gpu-lost", Level: preflight.Unhealthy, Evidence: "GPU 3 is lost (NVML 15)", Next: "reboot", Act: preflight.Administrator}
	warn := preflight.Finding{ID: "transports", Level: preflight.Warn, Evidence: "UCX would run over TCP", Act: preflight.Administrator}
	quiet := preflight.Finding{ID: "gpu-persistence-off", Level: preflight.Warn, Evidence: "off", Act: preflight.Administrator}
	unknown := preflight.Finding{ID: "gpu-unknown", Level: preflight.Unknown, Evidence: "its GPUs could not be asked"}
	all := &preflight.Report{Findings: []preflight.Finding{fits, unfit, sick, warn, quiet, unknown}}
	for _, c := range []struct {
		policy                 Policy
		refused, warned, noted int
	}{
		{Policy{}, 2, 1, 1},
		{Policy{Check: selection.Strict, Unknown: Silent}, 2, 1, 0},
		{Policy{Check: selection.Strict, Unknown: Refuse}, 3, 1, 0},
		{Policy{Check: selection.Warn, Unknown: Refuse}, 0, 3, 1},
	} {
		out := c.policy.Judge(all)
		if len(out.Refused) != c.refused || len(out.Warned) != c.warned || len(out.Noted) != c.noted || !out.Unhealthy {
			t.Errorf("%+v: %+v", c.policy, out)
		}
	}
	out := Policy{}.Judge(all)
	if got := out.Refusal(Place{What: "default of pixi.lock (a41c9e02)", Node: "gpu017", Reported: true}); got != "GPU 3 is lost (NVML 15); reported to the site's health check; next: sbatch --exclude=gpu017 …" {
		t.Error(got)
	}
	out = Policy{}.Judge(&preflight.Report{Findings: []preflight.Finding{unfit}})
	got := out.Refusal(Place{What: "default of pixi.lock (a41c9e02)", Node: "n1", Names: []string{"cpu"}, Fitting: []string{"cpu (without GPU)"}})
	if want := "default of pixi.lock (a41c9e02) does not fit: has glibc 2.31, needs __glibc >=2.34 (new 3.1)\n" +
		"  of this lock cpu (without GPU) fits here; next: --env-name=cpu takes it; or keep off such nodes (--exclude=n1, --constraint)"; got != want {
		t.Error(got)
	}
	if got := out.Refusal(Place{What: "x", Briefly: true}); !out.OfKind() || got != "x does not fit: "+unfit.Evidence {
		t.Error(got)
	}
	if got := out.Refusal(Place{What: "x"}); !strings.HasSuffix(got, "; next: --env-check=warn runs it all the same; or run it on another host") {
		t.Error(got)
	}
	// What a selection has said already is not said again.
	warned := Policy{Check: selection.Warn}.Judge(&preflight.Report{Findings: []preflight.Finding{unfit, warn}})
	lines := warned.Lines([]Line{{Text: "warning: default does not fit: " + unfit.Evidence, ByKind: true}})
	if len(lines) != 1 || lines[0].Text != "warning: UCX would run over TCP" || lines[0].ByKind {
		t.Errorf("%+v", lines)
	}
	// What the site has to do is not told as the user's.
	lost := preflight.Finding{ID: "gpu-lost", Level: preflight.Unhealthy, Evidence: "GPU 3 is lost", Next: "reboot", Act: preflight.Administrator}
	warned = Policy{Check: selection.Warn}.Judge(&preflight.Report{Findings: []preflight.Finding{lost}})
	lines = warned.Lines(nil)
	if len(lines) != 1 || lines[0].Text != "warning: GPU 3 is lost; next: tell the administrator, whose remedy is: reboot" {
		t.Errorf("%+v", lines)
	}
	// Nor what a submission has said of the kind of node; what it cannot know is.
	fabric := preflight.Finding{ID: "fabric", Level: preflight.Warn, Evidence: "UCX does not drive cxi0: it would run over TCP"}
	warned = Policy{}.Judge(&preflight.Report{Findings: []preflight.Finding{warn, fabric}})
	if lines := warned.Lines(nil); len(lines) != 2 {
		t.Errorf("nobody said so: %+v", lines)
	}
	warned.Told()
	if lines := warned.Lines(nil); len(lines) != 1 || lines[0].Text != "warning: UCX would run over TCP" {
		t.Errorf("%+v", lines)
	}
}

func TestPolicy(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "hpcenv.conf")
	if p, err := Site(conf); err != nil || p != (Policy{selection.Strict, Note}) {
		t.Errorf("a site that says nothing: %+v %v", p, err)
	}
	write := func(text string) {
		if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("env_check = warn\nenv_unknown = refuse\n")
	if p, err := Site(conf); err != nil || p != (Policy{selection.Warn, Refuse}) {
		t.Errorf("%+v %v", p, err)
	}
	write("env_check = maybe\n")
	if p, err := Site(conf); err == nil || p.Check != selection.Strict || !strings.Contains(err.Error(), "strict, warn, off") {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := PolicyOf(nil, of(Variable+"=off")); p.Check != selection.Off || err != nil {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := PolicyOf(nil, of(Variable+"=maybe")); err == nil {
		t.Error("no error")
	}
}

package health

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := gputest.Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run is a health check of a node with a driver; it returns what was kept and said.
func run(t *testing.T, o Options) (*facts.Facts, *gpu.Record, string) {
	t.Helper()
	var said strings.Builder
	o.Stderr, o.Conf, o.Node = &said, filepath.Join(t.TempDir(), "absent"), "n1"
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f, err := facts.LoadRecord(filepath.Join(o.RunDir, facts.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gpu.Load(o.Root, filepath.Join(o.RunDir, gpu.RecordFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return f.Facts, r, said.String()
}

func options(t *testing.T, d gputest.Driver) Options {
	t.Helper()
	return Options{Root: gputest.Node(t, d), RunDir: filepath.Join(t.TempDir(), "run"),
		GPU: gpu.Options{Program: gputest.Program(t), Library: gputest.Library(t, d), Limit: time.Minute}}
}

// TestGPUs: what the driver says is in the facts; the verdict is kept and said.
func TestGPUs(t *testing.T) {
	d := gputest.Drivers()["lost"]
	d.CUDA = 12080 // as with a newer driver's libraries: not what the table has
	o := options(t, d)
	f, r, said := run(t, o)
	if f.GPU == nil || f.GPU.CUDA != "12.8" || len(f.GPU.Models) != 1 || f.GPU.Models[0].Count != 7 {
		t.Errorf("%+v", f.GPU)
	}
	if r == nil || r.Verdict.Level != gpu.Unhealthy || !strings.Contains(said, "gpu-lost: GPU 3") || !strings.Contains(said, "next: ") {
		t.Errorf("%+v %q", r, said)
	}
	// A recorded node is asked nothing unless it is said who answers.
	o.RunDir, o.GPU.Program = t.TempDir(), ""
	if f, r, _ := run(t, o); f.GPU == nil || f.GPU.CUDA != "12.2" || r != nil {
		t.Errorf("%+v %+v", f.GPU, r)
	}
}

// TestWarningsAreKept: what is a warning only is not said at every check.
func TestWarningsAreKept(t *testing.T) {
	_, r, said := run(t, options(t, gputest.Drivers()["exclusive"]))
	if r.Verdict.Level != gpu.Warn || len(r.Verdict.Findings) != 2 || strings.Contains(said, "exclusive") {
		t.Errorf("%+v %q", r, said)
	}
}

// TestDriverHangs: the rest of the node is read, and its GPUs are what files say.
func TestDriverHangs(t *testing.T) {
	d := gputest.Drivers()["8xh100"]
	d.Rules = append(d.Rules, gputest.Rule{Call: "nvmlDeviceGetCount_v2", GPU: gputest.Any, Do: gputest.Hang})
	o := options(t, d)
	o.GPU.Limit = 4 * time.Second // what a child needs to get there on a busy machine
	f, r, said := run(t, o)
	if f.GPU == nil || f.GPU.CUDA != "12.2" || f.GPU.Models[0].Count != 8 {
		t.Errorf("%+v", f.GPU)
	}
	if r.Report != nil || r.Verdict.Level != gpu.Unknown || !strings.Contains(said, "in nvmlDeviceGetCount_v2") {
		t.Errorf("%+v %q", r, said)
	}
}

// TestAnotherProbe: while one is under way, what was kept counts.
func TestAnotherProbe(t *testing.T) {
	d := gputest.Drivers()["8xh100"]
	d.CUDA = 12080
	o := options(t, d)
	run(t, o)
	boot, err := facts.BootID()
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	text := string(stat)
	born := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])[19]
	mark := fmt.Sprintf(`{"boot":%q,"pid":%d,"born":%q,"since":"2026-01-01T00:00:00Z"}`, boot, os.Getpid(), born)
	if err := os.WriteFile(filepath.Join(o.RunDir, "gpu.child"), []byte(mark), 0o644); err != nil {
		t.Fatal(err)
	}
	f, _, said := run(t, o)
	if f.GPU == nil || f.GPU.CUDA != "12.8" || !strings.Contains(said, "another GPU probe is under way") {
		t.Errorf("%+v %q", f.GPU, said)
	}
}

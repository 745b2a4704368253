package gpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

// TestRefine: what the driver says counts where it says something; whether jobs can
// use a GPU, device nodes decide.
func TestRefine(t *testing.T) {
	h100 := func(n int) []facts.Model { return []facts.Model{{Name: "NVIDIA H100 80GB HBM3", Count: n}} }
	for _, c := range []struct {
		name    string
		change  func(d *gputest.Driver)
		node    func(root string) error
		want    *facts.GPU
		problem string
	}{
		{name: "as the files say", want: &facts.GPU{Vendor: "nvidia", Driver: "535.104.05", CUDA: "12.2", Compute: "9.0", Models: h100(8)}},
		{name: "another CUDA", change: func(d *gputest.Driver) { d.CUDA = 12080 },
			want: &facts.GPU{Vendor: "nvidia", Driver: "535.104.05", CUDA: "12.8", Compute: "9.0", Models: h100(8)}},
		{name: "a model without a table", change: func(d *gputest.Driver) {
			d.GPUs = gputest.Same(2, gputest.GPU{Name: "NVIDIA X1", Compute: 121})
			d.GPUs[1].Name, d.GPUs[1].Compute = "NVIDIA X2", 100
		}, want: &facts.GPU{Vendor: "nvidia", Driver: "535.104.05", CUDA: "12.2", Compute: "10.0",
			Models: []facts.Model{{Name: "NVIDIA X1", Count: 1}, {Name: "NVIDIA X2", Count: 1}}}},
		{name: "one lost", change: func(d *gputest.Driver) {
			d.Rules = append(d.Rules, gputest.Rule{Call: "nvmlDeviceGetHandleByIndex_v2", GPU: 3, Do: 15})
		}, want: &facts.GPU{Vendor: "nvidia", Driver: "535.104.05", CUDA: "12.2", Compute: "9.0", Models: h100(7)}, problem: "GPU 3"},
		{name: "all lost", change: func(d *gputest.Driver) {
			d.Rules = append(d.Rules, gputest.Rule{Call: "nvmlDeviceGetHandleByIndex_v2", GPU: gputest.Any, Do: 15})
		}, problem: "no GPU that can be used"},
		{name: "one closed to users", node: func(root string) error { return os.Chmod(filepath.Join(root, "dev/nvidia3"), 0o600) },
			want: &facts.GPU{Vendor: "nvidia", Driver: "535.104.05", CUDA: "12.2", Compute: "9.0", Models: h100(7)}, problem: "/dev/nvidia3"},
		{name: "names not told", change: func(d *gputest.Driver) {
			d.Missing = []string{"nvmlDeviceGetName", "nvmlDeviceGetCudaComputeCapability"}
		},
			want: &facts.GPU{Vendor: "nvidia", Driver: "535.104.05", CUDA: "12.2", Compute: "9.0", Models: h100(8)}},
		{name: "no library", change: func(d *gputest.Driver) { d.Missing = []string{"nvmlInit_v2"} },
			want: &facts.GPU{Vendor: "nvidia", Driver: "535.104.05", CUDA: "12.2", Compute: "9.0", Models: h100(8)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := gputest.Drivers()["8xh100"]
			if c.change != nil {
				c.change(&d)
			}
			root := gputest.Node(t, d)
			if c.node != nil {
				if err := c.node(root); err != nil {
					t.Fatal(err)
				}
			}
			f := facts.ReadWith(t.Context(), root, facts.Options{GPUs: Refine(facts.DefaultGPUs(), probe(t, d))})
			if diff := cmp.Diff(c.want, f.GPU); diff != "" {
				t.Errorf("(-want +got):\n%s\n%q", diff, f.Problems)
			}
			if problems := strings.Join(f.Problems, "\n"); !strings.Contains(problems, c.problem) {
				t.Errorf("no problem %q: %s", c.problem, problems)
			}
		})
	}
	if got := Refine(facts.DefaultGPUs(), nil); len(got) != len(facts.DefaultGPUs()) {
		t.Errorf("%d probes without a report", len(got))
	}
}

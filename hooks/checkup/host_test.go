package checkup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
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

// TestRecorded: what the node has on record counts, with when it was read.
func TestRecorded(t *testing.T) {
	dir, tree := t.TempDir(), t.TempDir()
	if err := factstest.Unpack("ib-gpu", tree); err != nil {
		t.Fatal(err)
	}
	kept := facts.Read(t.Context(), tree)
	if err := facts.Save(filepath.Join(dir, facts.RecordFile), kept); err != nil {
		t.Fatal(err)
	}
	h := Look(t.Context(), Options{RunDir: dir, Env: lookup(map[string]string{"SLURMD_NODENAME": "n7"})})
	if h.Node != "n7" || !h.FactsSource.Recorded || h.FactsSource.Read.IsZero() || h.Facts.GPU == nil || h.Facts.GPU.Driver != kept.GPU.Driver {
		t.Fatalf("node %s, facts %+v from %+v", h.Node, h.Facts, h.FactsSource)
	}
}

// TestReadNow: without a record the node is read, and says why.
func TestReadNow(t *testing.T) {
	tree := t.TempDir()
	if err := factstest.Unpack("gh-ss11", tree); err != nil {
		t.Fatal(err)
	}
	h := Look(t.Context(), Options{Root: tree, RunDir: t.TempDir(), Env: lookup(nil)})
	if h.FactsSource.Recorded || h.FactsSource.Why == "" || h.Facts.Machine != "aarch64" {
		t.Fatalf("facts %+v from %+v", h.Facts, h.FactsSource)
	}
	if h.GPU != nil || h.GPUProblem == "" {
		t.Fatalf("nobody answers for the GPUs of a recorded node: %+v, %q", h.GPU, h.GPUProblem)
	}
}

// TestAsked: without a record of the GPUs their driver is asked, and what it says
// counts; those that the job was given are found by their device nodes.
func TestAsked(t *testing.T) {
	d := gputest.Drivers()["lost"]
	h := Look(t.Context(), Options{Root: gputest.Node(t, d), RunDir: t.TempDir(), GPU: gpu.Options{Program: gputest.Program(t), Library: gputest.Library(t, d)},
		Env: lookup(map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_GPUS": "1,2"})})
	if h.GPU == nil || h.GPUSource.Recorded {
		t.Fatalf("GPUs %+v, problem %q", h.GPU, h.GPUProblem)
	}
	if !slices.ContainsFunc(h.GPU.Verdict.Findings, func(f gpu.Finding) bool { return strings.Contains(f.ID, "lost") }) {
		t.Errorf("no lost GPU: %+v", h.GPU.Verdict)
	}
	if got := h.input(Environment{}); !got.WantsGPU || !slices.Equal(got.Granted, []int{1, 2}) {
		t.Errorf("granted %v, wants %v", got.Granted, got.WantsGPU)
	}
}

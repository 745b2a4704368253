package checkup

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// Source tells where something is known from.
type Source struct {
	// Recorded: the node had it on record; else it was read now.
	Recorded bool `json:"recorded"`
	// Read is when.
	Read time.Time `json:"read"`
	// Why there is no record that could be used; "" with Recorded.
	Why string `json:"why,omitempty"`
}

// Host is what is known of a node.
type Host struct {
	// Node is Slurm's name for it, else the host's.
	Node string `json:"node"`
	// Job that this process is part of; nil = none.
	Job *Job `json:"job,omitempty"`
	// Facts of the node are never nil.
	Facts       *facts.Facts `json:"facts"`
	FactsSource Source       `json:"facts_source"`
	// GPU is the record of its GPUs; nil = there is none, and GPUProblem says why.
	GPU        *gpu.Record `json:"gpu,omitempty"`
	GPUSource  *Source     `json:"gpu_source,omitempty"`
	GPUProblem string      `json:"gpu_problem,omitempty"`

	root string
}

// Options of Look.
type Options struct {
	// Root is where the node's files are; "" = /. Of another root than that the GPUs
	// are asked only if GPU.Program says who answers for them.
	Root string
	// RunDir has the node's records.
	RunDir string
	// Env looks up a variable of this process.
	Env func(string) (string, bool)
	// GPU is how the driver is asked where there is no record.
	GPU gpu.Options
}

// Look at the node. It takes milliseconds with records, else as long as the driver
// of its GPUs takes (gpu.Options.Limit). What cannot be read is said in the Host.
func Look(ctx context.Context, o Options) *Host {
	o.Root = cmp.Or(o.Root, "/")
	h := &Host{Node: NodeName(o.Env), Job: jobOf(o.Env), root: o.Root}
	h.lookAtGPUs(ctx, o)
	record, err := facts.LoadRecord(filepath.Join(o.RunDir, facts.RecordFile))
	if err == nil {
		h.Facts, h.FactsSource = record.Facts, Source{Recorded: true, Read: record.Read}
		return h
	}
	var report *gpu.Report
	if h.GPU != nil {
		report = h.GPU.Report
	}
	h.Facts = facts.ReadWith(ctx, o.Root, facts.Options{GPUs: gpu.Refine(facts.DefaultGPUs(), report)})
	h.FactsSource = Source{Read: time.Now().UTC().Truncate(time.Second), Why: err.Error()}
	return h
}

// freshFor is how old a record may be to be taken without asking, as for a launch:
// three times the interval of the health check.
const freshFor = 15 * time.Minute

// lookAtGPUs takes the node's record if it is fresh, else asks the driver; an old
// record is better than none.
func (h *Host) lookAtGPUs(ctx context.Context, o Options) {
	record, err := gpu.Load(o.Root, filepath.Join(o.RunDir, gpu.RecordFile))
	if err == nil {
		h.GPU, h.GPUSource = record, &Source{Recorded: true, Read: record.Read}
		if record.Fresh(time.Now(), freshFor) {
			return
		}
		err = errors.New("the record is old")
	}
	if o.Root != "/" && o.GPU.Program == "" {
		h.GPUProblem = err.Error()
		return
	}
	// A user may not open every GPU of a node in a job, and has no directory in which
	// a probe that hangs could be marked.
	o.GPU.Devices, o.GPU.RunDir = o.GPU.Devices || os.Geteuid() != 0, ""
	asked, askErr := gpu.Ask(ctx, o.Root, o.GPU)
	switch {
	case askErr != nil:
		h.GPUProblem = askErr.Error()
	case asked.Failure != "":
		h.GPUProblem = asked.Failure
	}
	if asked != nil && (asked.Failure == "" || h.GPU == nil) {
		h.GPU, h.GPUSource = asked, &Source{Read: asked.Read, Why: err.Error()}
	}
}

// NodeName is the node's name for Slurm, else the host's.
func NodeName(env func(string) (string, bool)) string {
	if n, _ := env("SLURMD_NODENAME"); n != "" {
		return n
	}
	name, err := os.Hostname()
	if err != nil {
		return "this host"
	}
	name, _, _ = strings.Cut(name, ".")
	return name
}

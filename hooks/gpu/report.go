package gpu

// ReportVersion is the version of the form of Report as JSON.
const ReportVersion = 1

// States of a Report.
const (
	// StateOK: the driver's library answered.
	StateOK = "ok"
	// StateNoLibrary: the driver's library was not found.
	StateNoLibrary = "no-library"
	// StateBroken: there is a library that cannot be loaded, or is not the driver's.
	StateBroken = "broken-library"
	// StateFailed: the library does not start; Failures say why.
	StateFailed = "failed"
)

// Codes of NVML that decide about a node or a GPU. Probes for other vendors
// translate theirs.
const (
	CodeNotSupported    = 3
	CodeNoPermission    = 4
	CodeDriverNotLoaded = 9
	CodeLibraryNotFound = 12
	CodeNoFunction      = 13
	CodeLost            = 15
	CodeResetRequired   = 16
	CodeBlocked         = 17
	CodeMismatch        = 18
)

// Report is what the driver said, as the child prints it: facts, no judgement.
// What is not in it is not known, or the GPU has no such thing.
type Report struct {
	Version int `json:"version"`
	// Vendor is nvidia.
	Vendor string `json:"vendor"`
	// State is one of the constants above.
	State string `json:"state"`
	// Library is the file that was loaded.
	Library string `json:"library,omitempty"`
	// Driver is the driver's version, e.g. 535.104.05.
	Driver string `json:"driver,omitempty"`
	// CUDA is the newest version that the driver serves, major.minor.
	CUDA string `json:"cuda,omitempty"`
	// GPUs in the driver's order, which CUDA_VISIBLE_DEVICES does not change.
	GPUs []GPU `json:"gpus,omitempty"`
	// Withheld are the GPUs that --devices left out.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Failures of calls that are about no single GPU.
	Failures []Failure `json:"failures,omitempty"`
	// Missing functions of the library: it is older than they are.
	Missing []string `json:"missing,omitempty"`
}

// GPU is one device.
type GPU struct {
	// Index in the driver's order.
	Index int `json:"index"`
	// Minor is the number of the device node: /dev/nvidia<Minor>.
	Minor *int   `json:"minor,omitempty"`
	Name  string `json:"name,omitempty"`
	UUID  string `json:"uuid,omitempty"`
	// BusID as the kernel writes it: 0000:65:00.0.
	BusID string `json:"bus_id,omitempty"`
	// Compute capability, e.g. 9.0.
	Compute string `json:"compute,omitempty"`
	// Memory in bytes.
	Memory uint64 `json:"memory,omitempty"`
	MIG    *MIG   `json:"mig,omitempty"`
	// ComputeMode is one of the constants below, or mode-N.
	ComputeMode string `json:"compute_mode,omitempty"`
	// Persistence: the driver stays initialised without users.
	Persistence *bool `json:"persistence,omitempty"`
	// Lost: it does not answer any more. ResetRequired: it answers nothing else.
	Lost          bool   `json:"lost,omitempty"`
	ResetRequired bool   `json:"reset_required,omitempty"`
	Remap         *Remap `json:"remap,omitempty"`
	// RetirePending: pages of memory are retired at the next reset (GPUs that do
	// not remap rows).
	RetirePending *bool     `json:"retire_pending,omitempty"`
	ECC           *ECC      `json:"ecc,omitempty"`
	Failures      []Failure `json:"failures,omitempty"`
}

// Compute modes.
const (
	ModeDefault          = "default"
	ModeExclusiveThread  = "exclusive-thread"
	ModeProhibited       = "prohibited"
	ModeExclusiveProcess = "exclusive-process"
)

// MIG is how a GPU is divided.
type MIG struct {
	Enabled bool `json:"enabled"`
	// Pending is what Enabled becomes at the next reset.
	Pending   bool       `json:"pending"`
	Instances []Instance `json:"instances,omitempty"`
}

// Instance is a part of a GPU that programs see as a device.
type Instance struct {
	Name string `json:"name,omitempty"`
	UUID string `json:"uuid,omitempty"`
	// GPU and Compute are the instance's numbers.
	GPU     *int   `json:"gpu_instance,omitempty"`
	Compute *int   `json:"compute_instance,omitempty"`
	Memory  uint64 `json:"memory,omitempty"`
}

// Remap counts rows of memory that were replaced by spare ones.
type Remap struct {
	Correctable   int `json:"correctable"`
	Uncorrectable int `json:"uncorrectable"`
	// Pending: the next reset replaces more. Failed: no spare row was left.
	Pending bool `json:"pending"`
	Failed  bool `json:"failed"`
}

// ECC counts errors of memory that could not be corrected: since the driver was
// loaded, and ever. Nil = not known.
type ECC struct {
	SinceLoad *uint64 `json:"since_load,omitempty"`
	Ever      *uint64 `json:"ever,omitempty"`
}

// Withheld is a GPU whose device node the child may not open.
type Withheld struct {
	Index  int    `json:"index"`
	Device string `json:"device"`
	Why    string `json:"why"`
}

// Failure is a call that did not succeed.
type Failure struct {
	Call string `json:"call"`
	// Code as the library returned it; Text is the library's own, or the loader's.
	Code int    `json:"code"`
	Text string `json:"text"`
}

// failed is the first failure with a code, nil if there is none.
func failed(list []Failure, code int) *Failure {
	for i := range list {
		if list[i].Code == code {
			return &list[i]
		}
	}
	return nil
}

package activation

// The kinds of Op.
const (
	// OpSet gives the variable a value.
	OpSet = "set"
	// OpUnset removes the variable.
	OpUnset = "unset"
	// OpPrepend puts elements before those of a list variable.
	OpPrepend = "prepend"
	// OpAppend puts elements after those of a list variable.
	OpAppend = "append"
)

// Op is one change of one environment variable.
type Op struct {
	// Kind: "set", "unset", "prepend" or "append".
	Kind string `json:"op"`
	Name string `json:"name"`
	// Value for set; for prepend and append one or more elements joined by Sep.
	Value string `json:"value,omitempty"`
	// Sep is the list separator of prepend and append (":" for PATH).
	Sep string `json:"sep,omitempty"`
	// Expand: Value of a set refers to other variables ($NAME, ${NAME}) as
	// between a shell's double quotes; they are replaced when the patch is
	// applied.
	Expand bool `json:"expand,omitempty"`
}

// Patch is an ordered list of changes.
type Patch struct {
	Ops []Op `json:"ops"`
}

// Static is the part of an environment's activation that is known once its
// prefix is made; it is stored in meta/ with the environment.
type Static struct {
	// Patch is PATH, CONDA_PREFIX, env_vars.d, conda-meta/state: equal on every
	// node of one platform that has the prefix.
	Patch Patch `json:"patch"`
	// Scripts are etc/conda/activate.d/*.sh in the order in which they must be
	// sourced, relative to the prefix. They run on the node.
	Scripts []string `json:"scripts,omitempty"`
	// Deactivate are etc/conda/deactivate.d/*.sh, in the order to source them.
	Deactivate []string `json:"deactivate,omitempty"`
	// Notes are entries of env_vars.d and state that were passed over, and why.
	Notes []string `json:"notes,omitempty"`
}

// Manifest is the part of an activation that comes from the project's manifest
// (pixi.toml, pyproject.toml); it is pinned by digest when a job is submitted.
type Manifest struct {
	// Project identity for PIXI_PROJECT_*; Root is the directory of the
	// manifest.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Root    string `json:"root,omitempty"`
	File    string `json:"file,omitempty"`
	// Platforms of the environment (PIXI_ENVIRONMENT_PLATFORMS).
	Platforms []string `json:"platforms,omitempty"`
	// Env is [activation.env] for the environment, already merged over features
	// and targets, by conda subdir ("" = all).
	Env map[string]map[string]string `json:"env,omitempty"`
	// Scripts is [activation].scripts by conda subdir ("" = all): the path as
	// written and the content as it was when pinned. A list for a subdir
	// replaces the one for all.
	Scripts map[string][]Script `json:"scripts,omitempty"`
}

// Script is an activation script of a manifest, by content.
type Script struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

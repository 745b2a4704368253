package making

// States of a SiteBuild.
const (
	// SiteBuildPending: it is being made, or will be when the environment is prepared
	// again.
	SiteBuildPending = "pending"
	// SiteBuildBuilt: its overlay is published.
	SiteBuildBuilt = "built"
	// SiteBuildFailed: the log tells why. It is tried again when its declaration changes
	// or an administrator says so.
	SiteBuildFailed = "failed"
	// SiteBuildNotRun: no job came to run it. The next preparation tries again.
	SiteBuildNotRun = "not run"
)

// SiteBuild is what a site built for an environment on one platform, and of what.
type SiteBuild struct {
	// Name in the site's configuration, and a digest of what that said of it.
	Name        string `json:"name"`
	Declaration string `json:"declaration"`
	// State is one of those above, Problem says why it is not built.
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
	// Log is below the store; "" = there is none.
	Log string `json:"log,omitempty"`
	// Overlay is the id of what was built: it lies at <prefix root>/<overlay>.
	Overlay string `json:"overlay,omitempty"`
	// Networks of the nodes that it is for; none = all.
	Networks []string `json:"networks,omitempty"`
	// Variables that activation sets where the overlay is used.
	Variables []SiteVariable `json:"variables,omitempty"`
	// Of what it is built. Identity is what the probe printed on the node.
	Package  string `json:"package"`
	Version  string `json:"version"`
	SHA256   string `json:"sha256"`
	Conduit  string `json:"conduit,omitempty"`
	System   string `json:"system,omitempty"`
	MPI      string `json:"mpi,omitempty"`
	Compiler string `json:"compiler,omitempty"`
	Identity string `json:"identity,omitempty"`
	// Script is the sha256 of the command's script ("" = the command is no script of the
	// site's), Sources those of the sources.
	Script  string   `json:"script,omitempty"`
	Sources []string `json:"sources,omitempty"`
}

// SiteVariable is one variable of a SiteBuild. In Value ${overlay} and ${prefix} stand
// for the two directories.
type SiteVariable struct {
	Name  string `json:"name" mapstructure:"name"`
	Value string `json:"value" mapstructure:"value"`
	// Prepend: the value comes before what the variable has, with a colon.
	Prepend bool `json:"prepend,omitempty" mapstructure:"prepend"`
}

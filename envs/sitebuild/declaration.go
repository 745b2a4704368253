package sitebuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/making"
)

// ErrDeclaration is the class of errors about what a site declared.
var ErrDeclaration = errors.New("site build cannot be used")

// Declaration is one build of a site's configuration.
type Declaration struct {
	// Name in messages and logs: letters, digits, dot, dash, underscore.
	Name string `mapstructure:"name" json:"name"`
	// Package is a match specification (`legate-mpi-wrapper >=25`): environments that
	// have such a package get the build.
	Package string `mapstructure:"package" json:"package"`
	// Networks of the nodes that it is for (facts.NetworkKinds); none = all nodes.
	Networks []string `mapstructure:"networks" json:"networks"`
	// Nodes says for which platforms it is built, and how sbatch finds a node for it.
	Nodes []Nodes `mapstructure:"nodes" json:"-"`
	// Script is the path of a script on the daemon's host that root or the daemon owns
	// and nobody else may write to; its bytes go to the node. Arguments follow it, or are
	// the whole command where there is none. ${prefix}, ${overlay} and ${sources} in
	// them stand for directories.
	Script    string   `mapstructure:"script" json:"-"`
	Arguments []string `mapstructure:"arguments" json:"arguments"`
	// Sources are fetched by the daemon and lie in ${sources} under their URL's last part.
	Sources []Source `mapstructure:"sources" json:"sources"`
	// Probe is a command whose output on the node is part of what the build depends on.
	Probe []string `mapstructure:"probe" json:"probe"`
	// What it is built for and with, in the site's words: part of what it depends on, and
	// HPCENV_CONDUIT, HPCENV_SYSTEM, HPCENV_MPI and HPCENV_COMPILER in the build.
	// Microarchitecture too, where the compiler is told to use one.
	Conduit           string `mapstructure:"conduit" json:"conduit"`
	System            string `mapstructure:"system" json:"system"`
	MPI               string `mapstructure:"mpi" json:"mpi"`
	Compiler          string `mapstructure:"compiler" json:"compiler"`
	Microarchitecture string `mapstructure:"microarchitecture" json:"microarchitecture"`
	// Paths of the node beside /usr and the libraries that the build sees, read-only.
	Paths []string `mapstructure:"paths" json:"paths"`
	// Variables of launches.
	Variables []making.SiteVariable `mapstructure:"variables" json:"variables"`
	// Bounds; 0 = those of link scripts.
	Time      time.Duration `mapstructure:"time" json:"-"`
	MemoryMB  int64         `mapstructure:"memory_mb" json:"-"`
	Processes int           `mapstructure:"processes" json:"-"`
	DiskMB    int64         `mapstructure:"disk_mb" json:"-"`
	Files     int64         `mapstructure:"files" json:"-"`

	spec *matchspec.MatchSpec
}

// Nodes of one platform.
type Nodes struct {
	// Platform is a conda subdir.
	Platform string `mapstructure:"platform"`
	// Sbatch are arguments that choose nodes (--constraint=, --partition=, …).
	Sbatch []string `mapstructure:"sbatch"`
}

// Source is an archive that a build needs.
type Source struct {
	URL    string `mapstructure:"url" json:"-"` // where it comes from changes nothing
	SHA256 string `mapstructure:"sha256" json:"sha256"`
}

// Keys are the names that an entry of the configuration may have.
func Keys() []string {
	return []string{"name", "package", "networks", "nodes", "script", "arguments", "sources", "probe", "conduit", "system", "mpi", "compiler",
		"microarchitecture", "paths", "variables", "time", "memory_mb", "processes", "disk_mb", "files"}
}

var (
	nameForm     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	digestForm   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// ofActivation are variables that are not a site build's to set.
func ofActivation(name string) bool {
	return name == "CONDA_PREFIX" || strings.HasPrefix(name, "HPCENV_") || strings.HasPrefix(name, "CONDA_") || strings.HasPrefix(name, "PIXI_")
}

// Check completes a declaration. The error, of class ErrDeclaration, says what is wrong.
func (d *Declaration) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %q: %s", ErrDeclaration, d.Name, fmt.Sprintf(format, args...))
	}
	if !nameForm.MatchString(d.Name) {
		return bad("a name is made of letters, digits, dots, dashes and underscores")
	}
	var err error
	if d.spec, err = matchspec.Parse(d.Package); err != nil || d.spec.Name == "" || strings.ContainsAny(d.spec.Name, "*^") || d.spec.Virtual() {
		return bad("package %q is not the specification of one package, e.g. \"legate-mpi-wrapper >=25\" (%v)", d.Package, err)
	}
	switch {
	case len(d.Nodes) == 0:
		return bad("nodes says for no platform how a node is found, e.g. nodes: [{platform: linux-64, sbatch: [--partition=all]}]")
	case d.Script == "" && len(d.Arguments) == 0:
		return bad("it has no command: set script, or arguments")
	case d.Script != "" && (!path.IsAbs(d.Script) || path.Clean(d.Script) != d.Script):
		return bad("script %q is not a clean absolute path", d.Script)
	case len(d.Variables) == 0:
		return bad("it sets no variables, so no program would find what is built")
	case d.Time < 0 || d.MemoryMB < 0 || d.Processes < 0 || d.DiskMB < 0 || d.Files < 0:
		return bad("bounds are positive")
	}
	for _, n := range d.Nodes {
		if n.Platform == "" || strings.ContainsAny(n.Platform, "/ ") {
			return bad("platform %q", n.Platform)
		}
		if err := linkscript.CheckSbatch(n.Sbatch); err != nil {
			return bad("sbatch for %s: %v", n.Platform, err)
		}
	}
	for _, p := range d.Paths {
		if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
			return bad("path %q is not a clean absolute path below /", p)
		}
	}
	seen := map[string]bool{}
	for _, s := range d.Sources {
		src, err := s.source()
		if err != nil {
			return bad("%v", err)
		}
		if seen[src.Name] {
			return bad("two sources are called %s", src.Name)
		}
		seen[src.Name] = true
	}
	for _, v := range d.Variables {
		if !variableForm.MatchString(v.Name) || ofActivation(v.Name) || strings.ContainsAny(v.Value, "\x00\n") || v.Name == "PATH" && !v.Prepend {
			return bad("variable %s=%q is not one that a site build may set", v.Name, v.Value)
		}
	}
	return nil
}

// source is how the cache knows an archive.
func (s Source) source() (cache.Source, error) {
	name := path.Base(strings.SplitN(s.URL, "?", 2)[0])
	src := cache.Source{Name: name, URL: s.URL, SHA256: s.SHA256}
	for _, f := range []cache.ArchiveFormat{cache.FormatTarGz, cache.FormatTarBz2, cache.FormatTarZst} {
		if strings.HasSuffix(name, "."+string(f)) {
			src.Format = f
		}
	}
	if strings.HasSuffix(name, ".tgz") {
		src.Format = cache.FormatTarGz
	}
	if src.Format == "" || !digestForm.MatchString(s.SHA256) || !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") {
		return src, fmt.Errorf("source %q needs an http or https url of a .tar.gz, .tar.bz2 or .tar.zst, and the sha256 of that in lower-case hex", s.URL)
	}
	return src, nil
}

// OnPlatform tells whether it is built for a platform, and how nodes are found.
func (d *Declaration) OnPlatform(platform string) (Nodes, bool) {
	i := slices.IndexFunc(d.Nodes, func(n Nodes) bool { return n.Platform == platform })
	if i < 0 {
		return Nodes{}, false
	}
	return d.Nodes[i], true
}

// Of returns the package of an environment that makes the declaration apply to it; nil =
// it does not.
func (d *Declaration) Of(meta *materialize.Meta) *making.Package {
	for i, p := range meta.Packages {
		if p.Kind != "" || !strings.EqualFold(p.Name, d.spec.Name) {
			continue
		}
		v, err := version.Parse(p.Version)
		if err != nil {
			continue // no specification takes it
		}
		if d.spec.Matches(&matchspec.Package{Name: p.Name, Version: v, Build: p.Build, SHA256: p.SHA256}) {
			return &meta.Packages[i]
		}
	}
	return nil
}

// limits of the build.
func (d *Declaration) limits() linkscript.Limits {
	l := linkscript.DefaultLimits
	if d.Time > 0 {
		l.Time = d.Time
	}
	if d.MemoryMB > 0 {
		l.Memory = d.MemoryMB << 20
	}
	if d.Processes > 0 {
		l.Processes = d.Processes
	}
	if d.DiskMB > 0 {
		l.Bytes = d.DiskMB << 20
	}
	if d.Files > 0 {
		l.Inodes = d.Files
	}
	return l
}

// maxScript bounds a script, in bytes.
const maxScript = 1 << 20

// readScript reads the script; nil if there is none.
func (d *Declaration) readScript() ([]byte, error) {
	if d.Script == "" {
		return nil, nil
	}
	f, err := os.Open(d.Script)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrDeclaration, d.Name, err)
	}
	defer f.Close() // only read
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrDeclaration, d.Name, err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.Mode().IsRegular() || st.Mode().Perm()&0o022 != 0 || sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%w: %q: %s must be a regular file of root or of the daemon's account that nobody else may write to", ErrDeclaration, d.Name, d.Script)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err == nil && len(data) > maxScript {
		err = fmt.Errorf("%s is larger than %d bytes", d.Script, maxScript)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrDeclaration, d.Name, err)
	}
	return data, nil
}

// json of a declaration without what changes nothing of what is built or how it is used.
func (d *Declaration) json() []byte {
	data, err := json.Marshal(d)
	if err != nil { // strings and lists of them
		panic(err)
	}
	return data
}

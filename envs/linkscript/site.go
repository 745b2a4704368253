package linkscript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/envs/sandbox"
)

// Kinds of tasks of a site: it compiles on a node, with what the node has, what belongs
// to an environment but to none of its packages (package envs/sitebuild).
const (
	// SiteProbe asks a node what it compiles with. Its Output is the answer.
	SiteProbe = "site-probe"
	// SiteBuild makes what lies at the Task's Prefix. Tree is empty, and nothing that is
	// there beforehand is any package's.
	SiteBuild = "site-build"
)

// maxLog bounds what is kept of a site build's output, in bytes.
const maxLog = 1 << 20

// Site is what a Task of a site has beyond that of a script. Its Source holds the
// command's script and the sources.
type Site struct {
	// Environment is the id of the environment, and EnvPrefix its prefix, at which it is
	// seen, read-only, if it is there for this host or in the store (Task.Store).
	Environment string `json:"environment"`
	EnvPrefix   string `json:"env_prefix"`
	// Argv is what is run; a first word that is a path below sourceAt is of Source.
	Argv []string `json:"argv"`
	// Env are variables beside those of every build.
	Env []string `json:"env,omitempty"`
	// Paths of the node that are seen, read-only, beside /usr and the libraries. One that
	// the node does not have is passed over.
	Paths []string `json:"paths,omitempty"`
	// Probe, if set, was answered with Identity by another node: a node that answers
	// otherwise does not build.
	Probe    []string `json:"probe,omitempty"`
	Identity string   `json:"identity,omitempty"`
	// Sbatch are arguments that make the job land on a node of the right kind.
	Sbatch []string `json:"sbatch,omitempty"`
}

// SourceAt is where a site build, and a pre-link script, finds its Source.
const SourceAt = sourceAt

// Site tells whether a task is a site's.
func (s *Script) Site() bool { return s.Kind == SiteProbe || s.Kind == SiteBuild }

// text is how much of the output is kept. A probe's answer goes into records that every
// launch reads.
func (s *Script) text() int {
	if s.Kind == SiteBuild {
		return maxLog
	}
	return maxText
}

// sbatchOptions are those that a site may choose nodes with. Others are refused by
// both sides: the job is the build account's, not its daemon's.
var sbatchOptions = []string{"--account", "--constraint", "--exclude", "--gres", "--nodelist", "--partition", "--qos", "--reservation"}

// CheckSbatch refuses arguments of sbatch that do more than choose nodes.
func CheckSbatch(args []string) error {
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok || value == "" || !slices.Contains(sbatchOptions, name) {
			return fmt.Errorf("%q is not one of %s, with =VALUE", a, strings.Join(sbatchOptions, ", "))
		}
	}
	return nil
}

// checkSite refuses a task that shows more than it should.
func (t *Task) checkSite() error {
	s := t.Site
	if s == nil || len(s.Argv) == 0 || !path.IsAbs(s.EnvPrefix) || path.Clean(s.EnvPrefix) != s.EnvPrefix || !filepath.IsLocal(s.Environment) || strings.Contains(s.Environment, "/") {
		return fmt.Errorf("%w: site build without a command or an environment", ErrCannotRun)
	}
	for _, p := range s.Paths {
		if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
			return fmt.Errorf("%w: site build with path %q", ErrCannotRun, p)
		}
	}
	return nil
}

// buildAt is where a site build starts: an empty directory that goes with it.
const buildAt = "/tmp/build"

// siteSpec makes of a script's sandbox a site build's.
func (t *Task) siteSpec(spec *sandbox.Spec) {
	s := t.Site
	spec.Argv = append(spec.Argv[:len(spec.Argv)-2:len(spec.Argv)-2], s.Argv...)
	// The node's own programs come before those of the environment: compilers and MPI
	// are the node's.
	spec.Env = append([]string{
		"PREFIX=" + s.EnvPrefix, "CONDA_PREFIX=" + s.EnvPrefix, "OVERLAY=" + t.Prefix, "SOURCES=" + sourceAt,
		"PKG_NAME=" + t.Script.Package, "PKG_VERSION=" + t.Script.Version,
		"PATH=/usr/local/bin:/usr/bin:/bin:" + s.EnvPrefix + "/bin",
		"HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "TZ=UTC",
		"SOURCE_DATE_EPOCH=" + strconv.FormatInt(fixedTime.Unix(), 10), "PYTHONDONTWRITEBYTECODE=1",
	}, s.Env...)
	spec.Dir = "/tmp"
	spec.Binds = append(spec.Binds, sandbox.Bind{From: t.environment, At: s.EnvPrefix})
	for _, p := range s.Paths {
		if _, err := os.Stat(p); err == nil {
			spec.Binds = append(spec.Binds, sandbox.Bind{From: p, At: p})
		}
	}
}

// makeBuildDir makes what buildAt is, in the directory that is /tmp.
func makeBuildDir(tmp string) error { return os.Mkdir(filepath.Join(tmp, path.Base(buildAt)), 0o700) }

// probeAgain makes sure that this node compiles with what the task's answer came from.
func (l *Local) probeAgain(ctx context.Context, t *Task) error {
	if t.Site == nil || t.Script.Kind != SiteBuild || len(t.Site.Probe) == 0 {
		return nil
	}
	p, site := *t, *t.Site
	site.Argv, p.Site, p.Script.Kind = site.Probe, &site, SiteProbe
	p.Scratch = t.Scratch + "-probe"
	if err := os.Mkdir(p.Scratch, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	o, err := l.Run(ctx, &p)
	if err = errors.Join(err, RemoveAll(p.Scratch)); err != nil {
		return err
	}
	if o.Failed != "" || o.Output != t.Site.Identity {
		host, _ := os.Hostname() // for a message only
		return fmt.Errorf("%w: node %s answers the probe %q with %q (%s), another node did with %q; the nodes that the build's sbatch arguments choose are not of one kind", ErrCannotRun,
			host, site.Probe, o.Output, o.Failed, t.Site.Identity)
	}
	return nil
}

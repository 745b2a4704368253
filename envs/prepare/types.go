package prepare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/pyenv"
)

// Error classes; those of lockfile, materialize and cache come through as well.
var (
	// ErrNoPlatform: the lock has none of the wanted platforms.
	ErrNoPlatform = errors.New("no wanted platform is in the lock")
	// ErrRequest: the request itself makes no sense.
	ErrRequest = errors.New("request cannot be served")
)

// NeedLocalError names packages that lie in files which this process must not
// open itself, or that the caller said to have: their archives must be put at Store.ArchivePath first.
type NeedLocalError struct {
	Packages []*lockfile.CondaPackage
	Wheels   []*lockfile.PyPIPackage
	Pythons  []*lockfile.StandalonePython
}

func (e *NeedLocalError) add(l locked) {
	switch {
	case l.wheel != nil:
		e.Wheels = append(e.Wheels, l.wheel)
	case l.python != nil:
		e.Pythons = append(e.Pythons, l.python)
	default:
		e.Packages = append(e.Packages, l.conda)
	}
}

func (e *NeedLocalError) Error() string {
	names := make([]string, 0, len(e.Packages)+len(e.Wheels)+len(e.Pythons))
	for _, p := range e.Packages {
		names = append(names, p.Dist()+" ("+lockfile.RedactURL(p.Location)+")")
	}
	for _, p := range e.Wheels {
		names = append(names, p.FileName+" ("+lockfile.RedactURL(p.Location)+")")
	}
	for _, p := range e.Pythons {
		names = append(names, p.FileName+" ("+p.URL+")")
	}
	return "packages in local files must be handed over: " + strings.Join(names, ", ")
}

// Deps is what the engine works with. One Deps serves many Runs at once.
type Deps struct {
	Store   *cache.Store
	Fetcher *cache.Fetcher
	// ClusterPlatforms tells the conda subdirs of the cluster's nodes, and
	// notes for the user. It is asked only if the request names no platform.
	ClusterPlatforms func(ctx context.Context) (platforms, notes []string, err error)
	// OpenLocal: packages in local files are opened by this process, with the
	// user's own rights. Without it they end in a NeedLocalError.
	OpenLocal bool
	// Shared: others read the store, the locks in it too. A lock whose URLs hold
	// credentials is refused.
	Shared bool
	// Closed (may be nil) tells packages that are known to need a credential which this
	// process does not have, though who asks has them. They are not fetched: a
	// NeedCredentialError names them before anything is.
	Closed func(cache.Source) (bool, error)
	// Parallel downloads of one Run; 0 = 8.
	Parallel int
	// Slot (may be nil) is asked for leave before packages are fetched and
	// environments made; what needs no work never waits for it. It calls wait
	// once if it must.
	Slot func(ctx context.Context, wait func()) (release func(), err error)
	// Allow (may be nil) is asked before anything is fetched or made for a request, also
	// for a dry run; its error ends the run. What is there needs no leave.
	Allow func(ctx context.Context, w Want) error
	// NoByteCode: environments are made without compiled Python files. Sandbox is
	// where the compiler runs; nil = as NoByteCode.
	NoByteCode bool
	Sandbox    *bytecode.Sandbox
	// Python is what the site offers to locks that name no Python; nil = nothing.
	Python *pyenv.Offer
	// Scripts says which link scripts are run, and how.
	Scripts Scripts
	// BeforePublish (may be nil) is told of each environment that is made before anybody
	// can see it; its error ends the work.
	BeforePublish func(context.Context, *cache.Store, *materialize.Meta) error
	// Recover (may be nil) brings back an environment that was removed from a store and
	// can be had again without making it; false = there is none.
	Recover func(store *cache.Store, id, platform string) (bool, error)
	// Delivery is the form in which environments are published ("" = tree), and Images
	// makes images; nil = the host's mksquashfs, if one is needed.
	Delivery image.Delivery
	Images   *image.Tool
	// Program names this program in provenance.
	Program string
}

// Request asks for environments of a lock.
type Request struct {
	Lock []byte
	// Dir is the directory of the lock file, absolute; what is relative in the
	// lock is relative to it. Only used with OpenLocal.
	Dir string
	// Environments by name; empty = default. All = every one. Of a lock that names
	// none, the texts of wishes (python.Wish); All = those of pyenv.All.
	Environments []string
	All          bool
	// Platforms by conda subdir; empty = those of the cluster.
	Platforms []string
	// Brought: the caller has the archives. Nothing is fetched or opened; what is
	// missing ends in a NeedLocalError, wherever the lock says that it lies.
	Brought bool
	// Activations is what is kept with the lock: environment name → canonical
	// JSON of activation.Manifest.
	Activations map[string][]byte
	// Description, JSON, is kept with the lock by its digest: what it asks of nodes.
	Description []byte
	// DryRun: nothing is written.
	DryRun bool
	// Offline: nothing is fetched; what is missing is an error of class
	// cache.ErrOffline that names all of it.
	Offline bool
}

// Types of events.
const (
	EventPlan      = "plan"
	EventFetch     = "fetch"
	EventFetched   = "fetched"
	EventLink      = "link"
	EventPublished = "published"
	EventNote      = "note"
	EventWait      = "wait"
)

// Event is a step of a Run. See daemon/api for the meaning of each field.
type Event struct {
	Type                        string
	Package                     string
	Done, Total                 int64
	PackagesDone, PackagesTotal int
	BytesDone, BytesTotal       int64
	Environment, Platform       string
	New                         bool
	Text                        string
}

// Environment is one environment of one platform that a Run ended with.
type Environment struct {
	Name, Platform, ID string
	// Meta of the published environment; nil in a dry run that would make it.
	Meta *materialize.Meta
	// New: made by this Run.
	New bool
	// derived: what is missing is made of what is published, which this tells of; no
	// package is needed.
	derived *materialize.Meta
}

// Result is what a Run ended with.
type Result struct {
	LockDigest   string
	Environments []Environment
	// Skipped: one line per environment and platform that was wanted but is not
	// in the lock.
	Skipped []string
	// PackagesKept were in the store, PackagesNew were not; each package counts
	// once. BytesFetched is the size of the new ones' archives.
	PackagesKept, PackagesNew int
	BytesFetched              int64
	Seconds                   float64
	Notes                     []string
	// DryRun of a request that asked for one, else nil.
	DryRun *DryRun
}

// Source is how the cache knows a locked package.
func Source(p *lockfile.CondaPackage) (cache.Source, error) {
	s := cache.Source{Name: p.Dist(), URL: p.URL, SHA256: p.SHA256, MD5: p.MD5, Size: p.Size}
	switch {
	case strings.HasSuffix(p.FileName, ".conda"):
		s.Format = cache.FormatConda
	case strings.HasSuffix(p.FileName, ".tar.bz2"):
		s.Format = cache.FormatTarBz2
	default:
		return s, fmt.Errorf("%w: package %s: archive %q is neither .conda nor .tar.bz2", lockfile.ErrLock, p.Dist(), p.FileName)
	}
	return s, nil
}

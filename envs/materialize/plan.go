package materialize

import (
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/standalone"
)

// Kind is what an operation makes.
type Kind int

const (
	// KindDir makes a directory.
	KindDir Kind = iota
	// KindFile takes a file from the pool: linked, or copied where Copy is set.
	KindFile
	// KindPatch writes a file from the pool with its placeholder replaced, or with
	// Edits made.
	KindPatch
	// KindSymlink makes a symbolic link with the text Target, verbatim.
	KindSymlink
	// KindData writes Data.
	KindData
	// KindRecord writes the conda-meta record of the package Owner. Its content
	// names digests of patched files, so it is made last.
	KindRecord
)

// Own is the Owner of what no package brings: directories, markers.
const Own = -1

// Op makes one path of a prefix.
type Op struct {
	// Path is relative to the prefix, clean, slash-separated.
	Path string
	Kind Kind
	// Owner is an index into Plan.Packages, or Own.
	Owner int
	// Source is the path within the package (KindFile, KindPatch, KindSymlink).
	Source string
	Exec   bool
	// SHA256 and Size of the pool's content (KindFile, KindPatch).
	SHA256 string
	Size   int64
	// Copy: never a hard link.
	Copy bool
	// Target is a link's text.
	Target string
	// Placeholder, Binary and Offsets of KindPatch; see cache.Entry. Where Edits are
	// set, they are what it does.
	Placeholder string
	Binary      bool
	Offsets     []int64
	Edits       []standalone.Edit
	// Data is the content of KindData.
	Data []byte
}

// Plan is everything that a prefix will hold, decided without any I/O. Dry run,
// conflict report, materialization and verification all read it.
type Plan struct {
	Prefix   string
	Platform string
	// Packages: a Python of its own; conda packages in topological order,
	// dependencies first; then the wheels.
	Packages []Package
	// Ops sorted by path; each path once; every parent directory is among them.
	Ops []Op
	// Conflicts sorted by path.
	Conflicts []Conflict
	// SkippedScripts are link scripts that are not run ("name-version-build:
	// path"), Notes the packages' findings ("name-version-build: note").
	SkippedScripts, Notes []string

	metas  []*conda.PackageMeta // by package
	placed [][]placed           // by package: what each placed, for its record
	python *python
	// changed holds, by path, shipped compiled files that others replace; pyc the
	// compiled files that package i did not have, for its record.
	changed map[string]content
	scripts []plannedScript
	pyc     [][]string
	// unknown are compiled files whose content only the compiler could tell (see
	// KnownByteCode), with a guess at their size.
	unknown map[string]int64
}

// label is what messages call a package: a wheel, or a Python of its own, by its file
// name.
func label(p Package) string {
	if p.Wheel != nil {
		return cmp.Or(p.Wheel.FileName, p.Wheel.Name)
	}
	if p.Python != nil {
		return p.Python.Dist()
	}
	return p.Lock.Name + "-" + p.Lock.Version + "-" + p.Lock.Build
}

// NewPlan decides what the prefix holds. It is pure: the same packages, in
// whatever order, give the same plan. Errors are of class ErrUnlinkable,
// ErrPrefix, cache.ErrIntegrity or cache.ErrUnsafe; each names every package
// concerned.
func NewPlan(prefix string, platform string, pkgs []Package, opt Options) (*Plan, error) {
	if !opt.NoScripts {
		return nil, fmt.Errorf("running all link scripts was asked for; they are run for named packages only: %w", ErrUnlinkable)
	}
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	pkgs, wheels, pythons := split(pkgs)
	if err := checkPackages(platform, pkgs); err != nil {
		return nil, err
	}
	own, err := checkStandalone(platform, pythons, pkgs)
	if err != nil {
		return nil, err
	}
	p := &Plan{Prefix: prefix, Platform: platform, Packages: topological(pkgs)}
	if own != nil {
		p.python = &python{Short: own.Short, Site: own.Site}
	} else if p.python, err = findPython(p.Packages); err != nil {
		return nil, err
	}
	if err := checkWheels(platform, wheels, p.python); err != nil {
		return nil, err
	}
	p.Packages = slices.Concat(pythons, p.Packages, ordered(wheels))
	p.metas = make([]*conda.PackageMeta, len(p.Packages))
	p.placed = make([][]placed, len(p.Packages))
	if err := p.placeAll(own); err != nil {
		return nil, err
	}
	for i, pkg := range p.Packages {
		if pkg.Lock != nil {
			p.planScripts(i, slices.Contains(opt.Scripts, platform+"/"+pkg.Lock.Name))
		}
		for _, n := range pkg.Manifest.Notes {
			p.Notes = append(p.Notes, label(pkg)+": "+n)
		}
	}
	sort.Strings(p.SkippedScripts)
	sort.Strings(p.Notes)
	p.resolve()
	return p, p.checkBinaries()
}

// placeAll decides where each package's paths go, for several packages at once.
// Of several errors the one of the first package counts, so that it is always
// the same one. own is what is known of a Python of its own; nil = there is none.
func (p *Plan) placeAll(own *standalone.Meta) error {
	errs := make([]error, len(p.Packages))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range p.Packages {
		group.Go(func() error {
			errs[i] = p.place(i, own)
			return errs[i]
		})
	}
	if group.Wait() == nil {
		return nil
	}
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	return fmt.Errorf("package %s: %w", label(p.Packages[i]), errs[i])
}

// checkPrefix refuses a prefix that cannot be written into files.
func checkPrefix(prefix string) error {
	if !path.IsAbs(prefix) || path.Clean(prefix) != prefix || prefix == "/" {
		return fmt.Errorf("prefix %q is not a clean absolute path: %w", prefix, ErrPrefix)
	}
	if len(prefix) > maxPrefix {
		return fmt.Errorf("prefix %q is %d bytes, at most %d are possible, else the first lines of scripts are cut by the kernel; choose a shorter prefix root: %w",
			prefix, len(prefix), maxPrefix, ErrPrefix)
	}
	for _, r := range prefix {
		if r <= 0x20 || r == 0x7f || strings.ContainsRune("\"'\\$`:#", r) {
			return fmt.Errorf("prefix %q holds %q, which breaks scripts and search paths; choose another place: %w", prefix, r, ErrPrefix)
		}
	}
	return nil
}

// checkPackages refuses packages that cannot be together in one prefix, all of
// them at once.
func checkPackages(platform string, pkgs []Package) error {
	var faults []string
	seen := make(map[string]string)
	for _, p := range pkgs {
		if err := checkNames(p.Lock); err != "" {
			faults = append(faults, err)
		}
		if first, dup := seen[p.Lock.Name]; dup {
			faults = append(faults, fmt.Sprintf("%s and %s have one name", first, label(p)))
		}
		seen[p.Lock.Name] = label(p)
		if s := p.Lock.Subdir; s != platform && s != "noarch" {
			faults = append(faults, fmt.Sprintf("%s is for %s, not for %s", label(p), s, platform))
		}
		if p.Manifest == nil {
			faults = append(faults, fmt.Sprintf("%s is not in the store", label(p)))
		}
	}
	if len(faults) > 0 {
		sort.Strings(faults)
		return fmt.Errorf("%s: %w", strings.Join(faults, "; "), ErrUnlinkable)
	}
	return nil
}

// checkNames refuses names that cannot be parts of a record's file name.
func checkNames(c *lockfile.CondaPackage) string {
	for _, f := range []struct{ what, value string }{{"name", c.Name}, {"version", c.Version}, {"build", c.Build}} {
		bad := strings.ContainsFunc(f.value, func(r rune) bool {
			return r < 0x20 || r == 0x7f || r == '/' || r == '\\' || r == ':'
		})
		if bad || f.value == "." || f.value == ".." || f.value == "" && f.what != "build" {
			return fmt.Sprintf("package %q has an impossible %s %q", c.Name, f.what, f.value)
		}
	}
	return ""
}

// checkBinaries refuses a prefix that is longer than the placeholder of a binary
// that would be patched; all such files are named (a few of each package).
func (p *Plan) checkBinaries() error {
	var faults []string
	shortest := len(p.Prefix)
	for _, op := range p.Ops {
		if op.Kind == KindPatch && op.Binary && len(op.Offsets) > 0 && len(op.Placeholder) < len(p.Prefix) {
			faults = append(faults, fmt.Sprintf("%s of %s (%d bytes)", op.Path, label(p.Packages[op.Owner]), len(op.Placeholder)))
			shortest = min(shortest, len(op.Placeholder))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	const shown = 10
	if n := len(faults); n > shown {
		faults = append(faults[:shown], fmt.Sprintf("and %d more", n-shown))
	}
	return fmt.Errorf("prefix %s is %d bytes, longer than the placeholder compiled into %s; a prefix of at most %d bytes is needed: %w",
		p.Prefix, len(p.Prefix), strings.Join(faults, ", "), shortest, ErrPrefix)
}

// Totals is what a plan costs.
type Totals struct {
	// Files, Dirs and Links are inodes (a linked file counts, though it needs no
	// new one); New files are written, the rest is linked from the pool.
	Files, Dirs, Links, New int
	// Bytes of all files as far as they are known before writing: records and
	// patched text are counted with the size of their source.
	Bytes int64
}

// Totals counts the plan.
func (p *Plan) Totals() Totals {
	var t Totals
	for _, op := range p.Ops {
		switch op.Kind {
		case KindDir:
			t.Dirs++
		case KindSymlink:
			t.Links++
		default:
			t.Files++
			if op.Kind != KindFile || op.Copy || op.Size == 0 {
				t.New++
			}
			t.Bytes += op.Size + int64(len(op.Data))
		}
	}
	return t
}

package prepare

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockinfo"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// DryRun is what a Run would do and take.
type DryRun struct {
	// Fetch are the packages that are not in the store, the largest first.
	Fetch []Fetch
	// Inodes and Bytes on the store's file system that it would take in all:
	// archives, contents, environments.
	Inodes int
	Bytes  int64
	// Estimated: what packages hold that are not in the store is a guess by the
	// size of their archives, and what Python sources compile to one by theirs.
	Estimated bool
	// Environments, as Result has them.
	Environments []DryEnvironment
}

// Fetch is a package to fetch.
type Fetch struct {
	// Name is name-version-build.
	Name, SHA256 string
	// URL or path, as the lock has it, without credentials.
	URL string
	// Size of the archive in bytes; 0 = the lock does not tell.
	Size int64
}

// DryEnvironment is what is known of one environment before it is made, or of
// one that is there.
type DryEnvironment struct {
	Name, Platform, ID string
	New                bool
	// Delivery is how it is published: its tree, an image, or both.
	Delivery image.Delivery
	// Inodes and Bytes of a new one's tree, contents that it shares with the pool not
	// counted, and of its image, whose size is a guess.
	Inodes int
	Bytes  int64
	// Estimated: not all its packages are in the store (conflicts and skipped
	// scripts are not known then), or Python sources are yet to be compiled.
	Estimated      bool
	Conflicts      []materialize.Conflict
	SkippedScripts []string
}

// What packages hold, by the size of their archives: averages over the packages
// of a Python stack for data analysis. Single packages differ from it by far.
const (
	filesPerDirectory  = 9  // within one package
	filesPerOwn        = 12 // empty, patched or copied ones, and as many links
	unpackedPerPacked  = 3.3
	recordBytesPerFile = 300 // in conda-meta and in the manifest
)

// dryRun reckons what the run would do.
func (r *run) dryRun(targets []target, need *shelf, missing []locked, res *Result) error {
	d := &DryRun{Estimated: len(missing) > 0}
	contents := 0
	for _, p := range missing {
		location, _, _ := p.where()
		d.Fetch = append(d.Fetch, Fetch{Name: p.dist(), SHA256: p.sha256(), URL: lockfile.RedactURL(location), Size: p.size()})
		size, files := r.guess(p)
		if r.deps.Store.BuildsApart() { // the pool is on another disk
			d.Inodes, d.Bytes = d.Inodes+1, d.Bytes+size
			continue
		}
		// The archive, the manifest, and the contents.
		d.Inodes += 2 + files
		if !p.modules() {
			d.Inodes++ // the facts of its programs and libraries
		}
		contents += files
		d.Bytes += size + int64(files*recordBytesPerFile) + int64(float64(size)*unpackedPerPacked)
	}
	inodes, bytes := r.around(contents)
	d.Inodes, d.Bytes = d.Inodes+inodes, d.Bytes+bytes
	method := r.knownMethod()
	made := map[string]bool{} // an id that two environments share is made once
	for i, t := range targets {
		e := res.Environments[i]
		if e.Meta != nil {
			continue // see readyDry
		}
		out, err := r.dryTarget(t, need, method, e.derived)
		if err != nil {
			return fmt.Errorf("environment %s for %s: %w", t.env, t.subdir, err)
		}
		key := t.subdir + "/" + t.id
		if !made[key] {
			made[key] = true
			d.Inodes += out.Inodes
			if e.derived == nil {
				d.Inodes += 3 // its description in meta/, and what it asks of a node
			}
			d.Bytes += out.Bytes
			d.Estimated = d.Estimated || out.Estimated
		}
		d.Environments = append(d.Environments, *out)
	}
	res.DryRun = d
	return nil
}

// readyDry adds the environments that are there.
func readyDry(res *Result) {
	if res.DryRun == nil {
		res.DryRun = &DryRun{}
	}
	for _, e := range res.Environments {
		if e.Meta != nil {
			res.DryRun.Environments = append(res.DryRun.Environments, DryEnvironment{
				Name: e.Name, Platform: e.Platform, ID: e.ID, Conflicts: e.Meta.Conflicts, SkippedScripts: e.Meta.SkippedScripts,
			})
		}
	}
}

// dryTarget is exact if all packages are in the store.
func (r *run) dryTarget(t target, need *shelf, method string, derived *materialize.Meta) (*DryEnvironment, error) {
	out := &DryEnvironment{Name: t.env, Platform: t.subdir, ID: t.id, New: true, Delivery: r.deps.Delivery}
	if derived != nil && derived.Delivered.WantsTree() {
		out.addImage(derived.Bytes, true)
		return out, nil
	} else if derived != nil { // a tree of its image; what the pool has of it is not known
		out.Inodes, out.Bytes, out.Estimated = derived.Files+derived.Dirs+derived.Links, derived.Bytes, true
		return out, nil
	}
	var packages []materialize.Package
	all := archives(t.platform)
	for _, p := range all {
		if m := need.manifests[p.sha256()]; m != nil {
			packages = append(packages, p.pkg(m))
		}
	}
	if len(packages) < len(all) {
		r.guessTree(t, packages, method, out)
		if r.deps.Delivery.WantsImage() {
			out.addImage(r.guessBytes(t, packages), !r.deps.Delivery.WantsTree())
		}
		return out, nil
	}
	plan, err := materialize.NewPlan(r.deps.Store.Prefix(t.subdir, t.id), t.subdir, packages, options(r.byteCode, t.scripts))
	if err != nil {
		return nil, err
	}
	if err := r.dryByteCode(t, plan, need, out); err != nil {
		return nil, err
	}
	cost, err := plan.Predict(r.deps.Store, method)
	if err != nil {
		return nil, err
	}
	out.Inodes, out.Bytes = out.Inodes+cost.Inodes, out.Bytes+cost.Bytes
	if r.deps.Delivery.WantsImage() {
		out.addImage(plan.Bytes(), !r.deps.Delivery.WantsTree())
	}
	out.Conflicts, out.SkippedScripts = plan.Conflicts, plan.SkippedScripts
	return out, nil
}

// addImage adds the image of files of so many bytes; alone: nothing else is published.
func (d *DryEnvironment) addImage(bytes int64, alone bool) {
	if alone {
		d.Inodes, d.Bytes = 0, 0
	}
	d.Inodes, d.Bytes, d.Estimated = d.Inodes+1, d.Bytes+image.Guess(bytes), true
}

// guessBytes is how many bytes the files of a target have, of which some packages are
// known.
func (r *run) guessBytes(t target, known []materialize.Package) (bytes int64) {
	is := map[string]bool{}
	for _, p := range known {
		is[p.Manifest.SHA256] = true
		for _, e := range p.Manifest.Entries {
			bytes += e.Size
		}
	}
	for _, p := range archives(t.platform) {
		if !is[p.sha256()] {
			size, _ := r.guess(p)
			bytes += int64(float64(size) * unpackedPerPacked)
		}
	}
	return bytes
}

// dryByteCode puts the byte-code that the store knows into the plan, or reckons
// what compiling would add. It is an estimate then, and where sources are compiled
// for each prefix.
func (r *run) dryByteCode(t target, plan *materialize.Plan, need *shelf, out *DryEnvironment) error {
	if !r.byteCode || t.compiler == nil {
		return nil
	}
	if in := interpreter(t.compiler, need.manifests); in != nil {
		complete, err := plan.KnownByteCode(r.deps.Store, in, nil)
		switch {
		case errors.Is(err, cache.ErrIntegrity), errors.Is(err, cache.ErrNotFound):
			complete = false // the run makes it again, or says what is damaged
		case err != nil:
			return err
		}
		if complete {
			out.Estimated = plan.Unknown() > 0
			return nil
		}
	}
	files, dirs, bytes := plan.ByteCodeToCome()
	out.Estimated = files > 0
	out.Inodes, out.Bytes = files+dirs, bytes
	return nil
}

// guessTree reckons a tree of which some packages are not known.
func (r *run) guessTree(t target, known []materialize.Package, method string, out *DryEnvironment) {
	out.Estimated = true
	copies := method == cache.Copy.String()
	shared := method == "" || method == cache.Hardlink.String()
	dirs := map[string]bool{}
	is := map[string]bool{}
	for _, p := range known {
		is[p.Manifest.SHA256] = true
		for _, e := range p.Manifest.Entries {
			for d := path.Dir(e.Path); d != "." && !dirs[d]; d = path.Dir(d) {
				dirs[d] = true
			}
			own := e.Type == cache.EntryFile && (e.Size == 0 || e.NoLink || e.Placeholder != "")
			if own || e.Type != cache.EntryFile || !shared {
				out.Inodes++
			}
			if own || copies {
				out.Bytes += e.Size
			}
		}
		out.Bytes += int64(len(p.Manifest.Entries) * recordBytesPerFile)
	}
	all := archives(t.platform)
	for _, p := range all {
		if is[p.sha256()] {
			continue
		}
		size, files := r.guess(p)
		out.Inodes += 1 + files/filesPerDirectory + files/filesPerOwn
		own := files / filesPerOwn
		if !shared {
			own = files
		}
		out.Inodes += own
		out.Bytes += int64(files * recordBytesPerFile)
		if copies {
			out.Bytes += int64(float64(size) * unpackedPerPacked)
		}
	}
	const markers = 4 // the prefix, conda-meta, history, frozen
	out.Inodes += len(dirs) + len(all) + markers
}

// guess is the size of an archive and how many files are in it.
func (r *run) guess(p locked) (size int64, files int) {
	size = p.size()
	if size <= 0 {
		size = lockinfo.AssumedArchive
	}
	files = lockinfo.GuessFiles(size)
	if r.byteCode && p.modules() {
		files *= 2 // such packages never come with byte-code
	}
	return size, files
}

// knownMethod is how the store's environments got their files, as far as some
// of them tell: nothing may be written to find it out. "" = none does.
func (r *run) knownMethod() string {
	const looked = 20
	store := r.deps.Store
	for _, platform := range store.Format().Platforms {
		ids, err := os.ReadDir(filepath.Dir(store.TreePath(platform, "id")))
		if err != nil {
			continue // what cannot be listed tells nothing
		}
		for _, id := range ids[:min(len(ids), looked)] {
			if m, err := materialize.Published(store, id.Name(), platform); err == nil && m.Cost != nil {
				return m.Cost.Method
			}
		}
	}
	return ""
}

// around is what the run makes beside packages and trees: what is kept of the
// lock, and directories of the pool (256 at most) for so many contents.
func (r *run) around(contents int) (inodes int, bytes int64) {
	store := r.deps.Store
	if _, err := os.Lstat(store.LockDir(r.digest)); err != nil {
		inodes, bytes = 3, int64(len(r.req.Lock)) // directory, lock, index
		if n := len(r.req.Activations); n > 0 {
			inodes += 1 + n
		}
	}
	there, err := os.ReadDir(store.PoolDir("files"))
	if err != nil {
		there = nil // a store that is not there yet
	}
	return inodes + max(0, min(256-len(there), contents)), bytes
}

package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// DerivedEnvironment is how the environment of a pack without a lock is called: a
// pack does not say how it was.
const DerivedEnvironment = "default"

// record is a package in a channel's index, as far as a lock has the same.
type record struct {
	Name           string              `json:"name"`
	Version        string              `json:"version"`
	Build          string              `json:"build"`
	BuildNumber    int64               `json:"build_number"`
	Subdir         string              `json:"subdir"`
	Noarch         any                 `json:"noarch"`
	Depends        []string            `json:"depends"`
	Constrains     []string            `json:"constrains"`
	ExtraDepends   map[string][]string `json:"extra_depends"`
	Features       string              `json:"features"`
	Flags          []string            `json:"flags"`
	TrackFeatures  any                 `json:"track_features"`
	License        string              `json:"license"`
	LicenseFamily  string              `json:"license_family"`
	SHA256         string              `json:"sha256"`
	MD5            string              `json:"md5"`
	LegacyBz2MD5   string              `json:"legacy_bz2_md5"`
	LegacyBz2Size  int64               `json:"legacy_bz2_size"`
	Size           int64               `json:"size"`
	Timestamp      int64               `json:"timestamp"`
	Purls          []string            `json:"purls"`
	PythonSitePath string              `json:"python_site_packages_path"`

	// path in the pack.
	path string
}

// wheel is a wheel of a pack.
type wheel struct{ path, name, version, sha256 string }

// readPack reads what pixi-pack wrote and derives a lock.
func (b *Bundle) readPack(platform string) error {
	subdirs, wheels := map[string]bool{}, []wheel(nil)
	for _, name := range b.tree.names() {
		if rest, ok := strings.CutPrefix(name, channelDir+"/"); ok {
			if subdir, _, deeper := strings.Cut(rest, "/"); deeper {
				subdirs[subdir] = true
			}
		}
		if rest, ok := strings.CutPrefix(name, pypiDir+"/"); ok {
			w, err := b.wheel(rest)
			if err != nil {
				return err
			}
			wheels = append(wheels, w)
		}
	}
	var records []*record
	for _, subdir := range slices.Sorted(maps.Keys(subdirs)) {
		if subdir != platform && subdir != noarch {
			return fmt.Errorf("%w: it is for %s, but has packages for %s", ErrBundle, platform, subdir)
		}
		found, err := b.index(subdir)
		if err != nil {
			return err
		}
		records = append(records, found...)
	}
	if len(records)+len(wheels) == 0 {
		return fmt.Errorf("%w: there is no package in it", ErrBundle)
	}
	lock := derive(platform, records, wheels)
	parsed, err := lockfile.Parse(lock)
	if err != nil {
		return fmt.Errorf("the lock that follows from %s: %w", channelDir, err)
	}
	b.Project = Project{LockName: "pixi.lock", Lock: lock}
	b.Digest = parsed.Digest
	b.Contents = []Content{{Environment: DerivedEnvironment, Platform: platform}}
	return nil
}

// index reads repodata.json of a subdir; the records are sorted by file name.
func (b *Bundle) index(subdir string) ([]*record, error) {
	name := path.Join(channelDir, subdir, repodataName)
	data, err := read(b.tree, name)
	if err != nil {
		return nil, err
	}
	var index struct {
		Packages      map[string]*record `json:"packages"`
		PackagesConda map[string]*record `json:"packages.conda"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBundle, name, err)
	}
	all := index.PackagesConda // whatever their format: that is where pixi-pack has them
	if all == nil {
		all = map[string]*record{}
	}
	maps.Copy(all, index.Packages)
	var out []*record
	for _, file := range slices.Sorted(maps.Keys(all)) {
		r := all[file]
		if r == nil || !safeName(file) {
			return nil, fmt.Errorf("%w: %s: %q is no record of a file", ErrBundle, name, file)
		}
		if r.Subdir == "" {
			r.Subdir = subdir
		}
		if r.Subdir != subdir {
			return nil, fmt.Errorf("%w: %s: %s says that it is for %s", ErrBundle, name, file, r.Subdir)
		}
		r.path = path.Join(channelDir, subdir, file)
		size := int64(0)
		if r.SHA256, size, err = b.digest(r.path, r.SHA256); err != nil {
			return nil, err
		}
		if r.Size == 0 {
			r.Size = size
		}
		out = append(out, r)
	}
	return out, nil
}

// wheel reads what a wheel's name says.
func (b *Bundle) wheel(file string) (wheel, error) {
	stem, ok := strings.CutSuffix(file, ".whl")
	parts := strings.Split(stem, "-")
	if !ok || !safeName(file) || len(parts) < 5 || len(parts) > 6 {
		return wheel{}, fmt.Errorf("%w: %s/%s has not the name of a wheel", ErrBundle, pypiDir, file)
	}
	w := wheel{path: path.Join(pypiDir, file), name: strings.ToLower(parts[0]), version: parts[1]}
	w.name = strings.Join(strings.FieldsFunc(w.name, func(r rune) bool { return r == '_' || r == '.' || r == '-' }), "-")
	var err error
	w.sha256, _, err = b.digest(w.path, "")
	return w, err
}

// digest notes the archive at a path, and tells its size; its sha256 is known, or ""
// and found now.
func (b *Bundle) digest(name, known string) (digest string, size int64, err error) {
	f, size, err := b.tree.open(name)
	if err != nil {
		return "", 0, fmt.Errorf("%w: it has no %s, which its channel lists: %w", ErrBundle, name, err)
	}
	defer f.Close() // only read
	if known == "" {
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return "", 0, fmt.Errorf("%s: %w", name, err)
		}
		known = hex.EncodeToString(h.Sum(nil))
	}
	b.archives[known] = member{Path: name, SHA256: known}
	return known, size, nil
}

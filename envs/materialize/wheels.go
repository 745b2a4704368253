package materialize

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	envpython "github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/standalone"
	"github.com/hpcenv/hpcenv/envs/wheel"
)

// split tells conda packages, wheels and Pythons of their own apart.
func split(pkgs []Package) (conda, wheels, pythons []Package) {
	for _, p := range pkgs {
		switch {
		case p.Wheel != nil:
			wheels = append(wheels, p)
		case p.Python != nil:
			pythons = append(pythons, p)
		default:
			conda = append(conda, p)
		}
	}
	return conda, wheels, pythons
}

// checkWheels refuses wheels that cannot be in one prefix, all of them at once.
func checkWheels(platform string, wheels []Package, py *python) error {
	var faults []string
	fits := fitting(platform, py)
	seen := make(map[string]string)
	for _, p := range wheels {
		key := name.Normalize(p.Wheel.Name)
		if first, dup := seen[key]; dup {
			faults = append(faults, fmt.Sprintf("%s and %s are of one package", first, label(p)))
		}
		seen[key] = label(p)
		switch {
		case p.Wheel.Kind != lockfile.PyPIWheel:
			faults = append(faults, fmt.Sprintf("%s is no wheel but a %s, which has to be built", label(p), p.Wheel.Kind))
		case p.Manifest == nil:
			faults = append(faults, fmt.Sprintf("%s is not in the store", label(p)))
		case py != nil && !fits(p.Wheel.FileName):
			faults = append(faults, fmt.Sprintf("%s is not for Python %s on %s, as its file name says", label(p), py.Short, platform))
		}
	}
	if len(wheels) > 0 && py == nil {
		faults = append(faults, fmt.Sprintf("%s is a wheel, but the environment has no Python, so there is no place for it", label(wheels[0])))
	}
	if len(faults) > 0 {
		sort.Strings(faults)
		return fmt.Errorf("%s: %w", strings.Join(faults, "; "), ErrUnlinkable)
	}
	return nil
}

// newestGlibc is newer than any glibc: whether a wheel's is on the nodes is not
// judged here.
var newestGlibc = tag.Glibc{Major: 2, Minor: 99}

// fitting tells of a wheel's file name whether it is for the environment's Python
// and platform. Where that Python is none that wheels are made for, it cannot tell,
// and lets all through.
func fitting(platform string, py *python) func(file string) bool {
	any := func(string) bool { return true }
	if py == nil {
		return any
	}
	free := strings.HasSuffix(path.Base(py.stdlib()), "t")
	target, err := envpython.NewTarget(platform, py.Short+".0", free, newestGlibc)
	if err != nil {
		return any
	}
	tags := target.Tags()
	return func(file string) bool {
		w, err := tag.ParseWheelName(file)
		if err != nil {
			return false
		}
		_, ok := tags.RankWheel(w)
		return ok
	}
}

// ordered sorts wheels: they come after all conda packages, the greater name first,
// so that of two that want one path the lesser name wins, as it is with conda
// packages that do not need one another. (uv installs wheels at once, and which of
// two wins is chance.)
func ordered(wheels []Package) []Package {
	return slices.SortedFunc(slices.Values(wheels), func(a, b Package) int {
		return cmp.Compare(name.Normalize(b.Wheel.Name), name.Normalize(a.Wheel.Name))
	})
}

// place finds where each path of package i goes. own is what is known of a Python of
// its own.
func (p *Plan) place(i int, own *standalone.Meta) (err error) {
	pkg := p.Packages[i]
	if err := checkFormat(pkg); err != nil {
		return err
	}
	p.metas[i] = &conda.PackageMeta{} // only conda packages have one
	switch {
	case pkg.Wheel != nil:
		p.placed[i], err = placeWheel(p.Prefix, pkg, p.python)
	case pkg.Python != nil:
		p.placed[i], err = p.placeStandalone(pkg, own)
	default:
		if p.metas[i], err = conda.DecodeMeta(pkg.Manifest.Meta); err == nil {
			p.placed[i], err = placePackage(p.Prefix, pkg, p.metas[i], p.python)
		}
	}
	return err
}

func placeWheel(prefix string, pkg Package, py *python) ([]placed, error) {
	placements, err := wheel.Place(pkg.Manifest, wheel.NewLayout(prefix, py.Short, py.Site), directURL(pkg.Wheel))
	if err != nil {
		return nil, err
	}
	out := make([]placed, len(placements))
	for i, pl := range placements {
		op := Op{Path: pl.Path, Kind: KindFile, Source: pl.Source, Exec: pl.Exec}
		switch {
		case pl.Dir:
			op.Kind = KindDir
		case pl.Source == "":
			op.Kind, op.Data = KindData, pl.Data
		default:
			op.SHA256, op.Size = pl.SHA256, pl.Size
		}
		out[i] = placed{Op: op}
	}
	return out, nil
}

// directURL is the content of a wheel's direct_url.json; nil if it came from an
// index. A path is written as a file URL, a relative one stays relative, so that a
// prefix does not depend on where the lock lies.
func directURL(p *lockfile.PyPIPackage) []byte {
	if !p.Direct {
		return nil
	}
	if p.Local {
		location := strings.TrimPrefix(p.Location, "direct+")
		if strings.HasPrefix(location, "file:") {
			location, _, _ = strings.Cut(location, "#") // a digest, not part of the place
		}
		if u, ok := locationURL(location); ok {
			return wheel.DirectURL(u)
		}
	}
	u, _, _ := strings.Cut(lockfile.RedactURL(p.URL), "#")
	return wheel.DirectURL(u)
}

// idWheel is what an environment id covers of a wheel: its bytes, and what is
// written into the prefix of where it came from.
func idWheel(p *lockfile.PyPIPackage) json.RawMessage {
	data, err := json.Marshal(struct {
		Name      string `json:"name"`
		SHA256    string `json:"sha256"`
		DirectURL string `json:"direct_url,omitempty"`
	}{name.Normalize(p.Name), p.SHA256, string(directURL(p))})
	if err != nil {
		panic(fmt.Sprintf("environment id: %v", err)) // texts always have a JSON form
	}
	return data
}

// idWheels are a platform's wheels in the id, sorted.
func idWheels(p *lockfile.Platform) []json.RawMessage {
	var out []json.RawMessage
	for _, w := range p.Installed() {
		out = append(out, idWheel(w))
	}
	slices.SortFunc(out, func(a, b json.RawMessage) int { return cmp.Compare(string(a), string(b)) })
	return out
}

// kindWheel is MetaPackage.Kind of a wheel.
const kindWheel = "wheel"

// metaPackage describes a package in an environment's Meta.
func metaPackage(p Package) MetaPackage {
	if w := p.Wheel; w != nil {
		return MetaPackage{
			Name: w.Name, Version: w.Version, Kind: kindWheel, SHA256: w.SHA256,
			URL: lockfile.RedactURL(w.Location), Size: p.Manifest.Size,
		}
	}
	if s := p.Python; s != nil {
		return MetaPackage{
			Name: "python", Version: s.Version, Kind: kindStandalone, SHA256: s.SHA256,
			URL: lockfile.RedactURL(s.URL), Size: p.Manifest.Size,
		}
	}
	return MetaPackage{
		Name: p.Lock.Name, Version: p.Lock.Version, Build: p.Lock.Build, SHA256: p.Lock.SHA256,
		URL: lockfile.RedactURL(p.Lock.Location), Size: p.Manifest.Size,
	}
}

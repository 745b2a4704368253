package prepare

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/wheel"
)

// locked is an archive that a lock names: a conda package's, or a wheel.
type locked struct {
	conda *lockfile.CondaPackage
	wheel *lockfile.PyPIPackage
}

// archives are the archives of a platform, conda packages first.
func archives(p *lockfile.Platform) []locked {
	out := make([]locked, 0, len(p.Conda)+len(p.PyPI))
	for _, c := range p.Conda {
		out = append(out, locked{conda: c})
	}
	for _, w := range p.Installed() {
		out = append(out, locked{wheel: w})
	}
	return out
}

func (l locked) sha256() string {
	if l.wheel != nil {
		return l.wheel.SHA256
	}
	return l.conda.SHA256
}

// size in bytes; 0 = the lock does not tell.
func (l locked) size() int64 {
	if l.wheel != nil {
		return l.wheel.Size
	}
	return l.conda.Size
}

// dist is what messages call it.
func (l locked) dist() string {
	if l.wheel != nil {
		return l.wheel.FileName
	}
	return l.conda.Dist()
}

// place is what it is called in its channel.
func (l locked) place() string {
	if l.wheel != nil {
		return l.wheel.FileName
	}
	return l.conda.Subdir + "/" + l.conda.Dist()
}

// where it is, as the lock has it, and as a URL; local: in a file.
func (l locked) where() (location, url string, local bool) {
	if l.wheel != nil {
		return l.wheel.Location, l.wheel.URL, l.wheel.Local
	}
	return l.conda.Location, l.conda.URL, l.conda.Local
}

// python: all its modules are compiled by us.
func (l locked) python() bool { return l.wheel != nil || l.conda.Noarch == "python" }

func (l locked) source() (cache.Source, error) {
	if l.wheel != nil {
		return WheelSource(l.wheel)
	}
	return Source(l.conda)
}

// pkg is the package with what the store knows of it.
func (l locked) pkg(m *cache.Manifest) materialize.Package {
	return materialize.Package{Lock: l.conda, Wheel: l.wheel, Manifest: m}
}

// WheelSource is how the cache knows a locked wheel.
func WheelSource(p *lockfile.PyPIPackage) (cache.Source, error) {
	s := cache.Source{Name: p.FileName, URL: p.URL, SHA256: p.SHA256, MD5: p.MD5, Size: p.Size, Format: cache.FormatWheel}
	if p.Kind != lockfile.PyPIWheel || !strings.HasSuffix(p.FileName, ".whl") {
		return s, fmt.Errorf("%w: package %s (%s, line %d) is no wheel", lockfile.ErrLock, p.Name, lockfile.RedactURL(p.Location), p.Line)
	}
	if p.SHA256 == "" {
		return s, fmt.Errorf("%w: wheel %s (line %d) has no sha256, so its bytes cannot be checked; next: lock again with an index that publishes them",
			lockfile.ErrLock, p.FileName, p.Line)
	}
	return s, nil
}

// interpret is the cache.Interpreter of all that a lock names.
func interpret(raw *cache.Raw) ([]cache.Entry, json.RawMessage, []string, error) {
	if raw.Source.Format == cache.FormatWheel {
		return wheel.Interpret(raw)
	}
	return conda.Interpret(raw)
}

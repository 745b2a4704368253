package prepare

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/standalone"
	"github.com/hpcenv/hpcenv/envs/wheel"
)

// locked is an archive that a lock names, a conda package's or a wheel, or the Python
// that it is given. One of the three is set.
type locked struct {
	conda  *lockfile.CondaPackage
	wheel  *lockfile.PyPIPackage
	python *lockfile.StandalonePython
}

// archives are the archives of a platform: its own Python, conda packages, wheels.
func archives(p *lockfile.Platform) []locked {
	out := make([]locked, 0, 1+len(p.Conda)+len(p.PyPI))
	if p.Python != nil {
		out = append(out, locked{python: p.Python})
	}
	for _, c := range p.Conda {
		out = append(out, locked{conda: c})
	}
	for _, w := range p.Installed() {
		out = append(out, locked{wheel: w})
	}
	return out
}

func (l locked) sha256() string {
	switch {
	case l.wheel != nil:
		return l.wheel.SHA256
	case l.python != nil:
		return l.python.SHA256
	}
	return l.conda.SHA256
}

// size in bytes; 0 = the lock does not tell.
func (l locked) size() int64 {
	switch {
	case l.wheel != nil:
		return l.wheel.Size
	case l.python != nil:
		return 0
	}
	return l.conda.Size
}

// dist is what messages call it.
func (l locked) dist() string {
	switch {
	case l.wheel != nil:
		return l.wheel.FileName
	case l.python != nil:
		return l.python.Dist()
	}
	return l.conda.Dist()
}

// place is what it is called in its channel.
func (l locked) place() string {
	if l.conda == nil {
		return l.dist()
	}
	return l.conda.Subdir + "/" + l.conda.Dist()
}

// where it is, as the lock has it, and as a URL; local: in a file.
func (l locked) where() (location, url string, local bool) {
	switch {
	case l.wheel != nil:
		return l.wheel.Location, l.wheel.URL, l.wheel.Local
	case l.python != nil:
		return l.python.URL, l.python.URL, l.python.Local
	}
	return l.conda.Location, l.conda.URL, l.conda.Local
}

// modules: it is made of Python modules that come without byte-code.
func (l locked) modules() bool { return l.conda == nil || l.conda.Noarch == "python" }

func (l locked) source() (cache.Source, error) {
	switch {
	case l.wheel != nil:
		return WheelSource(l.wheel)
	case l.python != nil:
		return StandaloneSource(l.python)
	}
	return Source(l.conda)
}

// pkg is the package with what the store knows of it.
func (l locked) pkg(m *cache.Manifest) materialize.Package {
	return materialize.Package{Lock: l.conda, Wheel: l.wheel, Python: l.python, Manifest: m}
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

// StandaloneSource is how the cache knows a Python that comes as an archive of its
// own.
func StandaloneSource(p *lockfile.StandalonePython) (cache.Source, error) {
	s := cache.Source{Name: p.FileName, URL: p.URL, SHA256: p.SHA256}
	switch {
	case strings.HasSuffix(p.FileName, ".tar.gz"):
		s.Format = cache.FormatTarGz
	case strings.HasSuffix(p.FileName, ".tar.zst"):
		s.Format = cache.FormatTarZst
	default:
		return s, fmt.Errorf("%w: archive %q is neither .tar.gz nor .tar.zst", python.ErrInterpreter, p.FileName)
	}
	return s, nil
}

// interpret is the cache.Interpreter of all that a lock names or is given.
func interpret(raw *cache.Raw) ([]cache.Entry, json.RawMessage, []string, error) {
	switch raw.Source.Format {
	case cache.FormatWheel:
		return wheel.Interpret(raw)
	case cache.FormatTarGz, cache.FormatTarZst:
		return standalone.Interpret(raw)
	}
	return conda.Interpret(raw)
}

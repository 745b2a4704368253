package recipe

import (
	"regexp"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/debian"
)

// Arch is one architecture under its three names.
type Arch struct {
	// Debian ("amd64"), Subdir of conda ("linux-64"), Triplet of its library
	// directories ("x86_64-linux-gnu"), Compiler for it on this machine.
	Debian, Subdir, Triplet, Compiler string
	// PageSize that ELF files must be aligned to; "" = patchelf's default.
	PageSize string
}

// Archs are the architectures of the demo channel.
func Archs() []Arch {
	return []Arch{
		{Debian: "amd64", Subdir: "linux-64", Triplet: "x86_64-linux-gnu", Compiler: "x86_64-linux-gnu-gcc"},
		{Debian: "arm64", Subdir: "linux-aarch64", Triplet: "aarch64-linux-gnu", Compiler: "aarch64-linux-gnu-gcc", PageSize: "65536"},
	}
}

// Roots are the Debian packages to start from, for Python version py ("3.11").
func Roots(py string) []string {
	roots := []string{
		"python" + py + "-minimal", "python" + py, "libpython" + py + "-stdlib",
		"ca-certificates", "ncurses-base", "tzdata", "zlib1g-dev",
	}
	for _, m := range []string{
		"attr", "certifi", "chardet", "charset-normalizer", "click", "colorama", "dateutil", "decorator",
		"docutils", "filelock", "idna", "importlib-metadata", "iniconfig", "jinja2", "jsonschema", "markupsafe", "more-itertools", "numpy",
		"packaging", "pkg-resources", "platformdirs", "pluggy", "pygments", "pyparsing", "requests", "setuptools", "simplejson",
		"six", "sortedcontainers", "tabulate", "toml", "tomli", "typing-extensions", "tz", "urllib3", "wheel", "yaml", "zipp",
	} {
		roots = append(roots, "python3-"+m)
	}
	return roots
}

// Stop answers true for dependencies that are not followed: the C library, what
// only Debian's own tools need, and "python3", which conda packages call python.
func Stop(name string) bool {
	switch name {
	case "libc6", "libc-bin", "libc6-dev", "libc-dev", "libc-dev-bin", "dpkg", "debconf", "debconf-2.0", "cdebconf", "openssl",
		"media-types", "mime-support", "install-info", "sensible-utils", "python3", "python3-minimal", "xml-core", "sgml-base":
		return true
	}
	return strings.HasPrefix(name, "gcc-") && strings.HasSuffix(name, "-base") || barePython.MatchString(name)
}

var barePython = regexp.MustCompile(`^python3\.[0-9]+$`)

// condaName is the conda package's name for a Debian package.
func condaName(deb, py string) string {
	switch deb {
	case "python" + py + "-minimal":
		return "python"
	case "python" + py:
		return "python-tools"
	}
	return strings.ReplaceAll(strings.TrimPrefix(deb, "python3-"), "+", "x")
}

var (
	repacked = regexp.MustCompile(`[.+~]?(dfsg|ds|repack|debian|really).*$`)
	nonVer   = regexp.MustCompile(`[^a-z0-9._+!]+`)
)

// condaVersion is a Debian package's upstream version as conda writes it.
func condaVersion(s *debian.Stanza) string {
	v := repacked.ReplaceAllString(strings.ToLower(s.Upstream()), "")
	return nonVer.ReplaceAllString(strings.ReplaceAll(v, "+", "."), ".")
}

// wantsPython tells whether a stanza depends on the Python interpreter.
func wantsPython(s *debian.Stanza) bool {
	for _, clause := range s.Depends {
		for _, name := range clause {
			if name == "python3" || barePython.MatchString(name) {
				return true
			}
		}
	}
	return false
}

// Platforms are the channel's conda subdirs other than noarch.
func Platforms() []string {
	var out []string
	for _, a := range Archs() {
		out = append(out, a.Subdir)
	}
	return out
}

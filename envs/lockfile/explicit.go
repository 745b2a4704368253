package lockfile

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// explicitMark is the line that makes a list of URLs a lock.
var explicitMark = []byte("@EXPLICIT")

// explicitList tells whether a file has the line @EXPLICIT. No YAML or TOML can
// have it.
func explicitList(data []byte) bool {
	for at := 0; ; {
		i := bytes.Index(data[at:], explicitMark)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(explicitMark)
		rest, _, _ := bytes.Cut(data[at:], []byte("\n"))
		if (i == 0 || data[i-1] == '\n' || bytes.Equal(data[:i], []byte("\ufeff"))) && len(bytes.TrimSpace(rest)) == 0 {
			return true
		}
	}
}

var (
	// explicitPlatform is the comment in which conda and conda-lock name it.
	explicitPlatform = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^# *platform: *(\S+)$`) })
	// explicitPip is the comment in which conda-lock hides Python packages.
	explicitPip = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^# *pip +(.+)$`) })
	// explicitPipURL is the one form of it that says where the package lies.
	explicitPipURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9._-]+) *@ *(\S+)$`) })
)

// readExplicit reads a list of URLs, one a line, each with its md5 or sha256
// behind a #. It makes one environment, `default`, for one platform: the one that
// a comment names, else the one that the URLs are of. Dependencies are not known.
func readExplicit(data []byte, lock *Lock) error {
	env := &Environment{Name: "default"}
	platform, platformLine := "", 0
	var entries []*entry
	marked := false
	number := 0
	for raw := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		number++
		line := strings.TrimSpace(raw)
		var e *entry
		var err error
		switch {
		case line == "":
		case line == string(explicitMark):
			marked = true
		case line[0] == '#':
			if m := explicitPlatform().FindStringSubmatch(line); m != nil {
				if platform != "" && platform != m[1] {
					return fmt.Errorf("%w: line %d: the platform is %s, but %s in line %d", ErrLock, number, m[1], platform, platformLine)
				}
				platform, platformLine = m[1], number
			} else if m := explicitPip().FindStringSubmatch(line); m != nil {
				e, err = explicitPypi(m[1], number)
			}
		case !marked:
			return fmt.Errorf("%w: line %d: a package stands before the line %s", ErrLock, number, explicitMark)
		default:
			e, err = explicitConda(line, number)
		}
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		entries = append(entries, e)
		if e.pkg != nil && e.pkg.Channel != "" && !slices.Contains(env.Channels, e.pkg.Channel) {
			env.Channels = append(env.Channels, e.pkg.Channel)
		}
	}
	for i := 0; i < len(entries) && platform == ""; i++ {
		if pkg := entries[i].pkg; pkg != nil && pkg.Subdir != "noarch" {
			platform, platformLine = pkg.Subdir, pkg.Line
		}
	}
	if !KnownSubdir(platform) || platform == "noarch" {
		if platform == "" {
			return fmt.Errorf("%w: no line tells the platform; next: put `# platform: linux-64` (or the one that is meant) above %s", ErrLock, explicitMark)
		}
		return fmt.Errorf("%w: line %d: unknown platform %q", ErrLock, platformLine, platform)
	}
	entries, err := onceEach(entries)
	if err != nil {
		return err
	}
	env.add(platformOf(platform, platform, nil, entries))
	lock.Environments = []*Environment{env}
	return nil
}

// explicitConda reads URL#hash.
func explicitConda(line string, number int) (*entry, error) {
	location, hash, _ := strings.Cut(line, "#")
	pkg := &CondaPackage{Location: strings.TrimSpace(location), Line: number}
	if _, archive := archiveName(fileName(pkg.Location)); !archive || strings.ContainsAny(pkg.Location, " \t") {
		return nil, fmt.Errorf("%w: line %d: a line must be the location of a conda archive (name-version-build.conda or .tar.bz2), it is %s",
			ErrLock, number, RedactURL(pkg.Location))
	}
	if err := explicitHash(hash, &pkg.SHA256, &pkg.MD5); err != nil {
		return nil, fmt.Errorf("%w: line %d: package %s: %w", ErrLock, number, RedactURL(pkg.Location), err)
	}
	return condaEntry(given{}, pkg)
}

// explicitHash reads md5 or sha256, which their lengths tell, or the name of the
// hash, a colon and the hash.
func explicitHash(text string, sha256, md5 *string) error {
	name, digits, named := strings.Cut(strings.ToLower(strings.TrimSpace(text)), ":")
	if !named {
		name, digits = "", name
	}
	switch {
	case text == "":
	case isHex(digits, 64) && (name == "" || name == "sha256"):
		*sha256 = digits
	case isHex(digits, 32) && (name == "" || name == "md5"):
		*md5 = digits
	default:
		return fmt.Errorf("behind the # must be an md5 (32 hex digits) or a sha256 (64), it is `%s`", text)
	}
	return nil
}

// explicitPypi reads NAME @ URL#sha256=hash, as conda-lock writes it. What it
// writes of packages that it knows no URL of cannot be installed.
func explicitPypi(text string, number int) (*entry, error) {
	m := explicitPipURL().FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%w: line %d: a Python package must be `# pip NAME @ URL#sha256=HASH`, it is `%s`", ErrLock, number, text)
	}
	return pypiEntry(&PyPIPackage{Name: m[1], Location: m[2], Line: number}, true)
}

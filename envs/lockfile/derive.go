package lockfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// dist is what an archive's name says.
type dist struct{ name, version, build string }

// archiveName splits the name of a conda archive, from the right, into name,
// version and build; false if it is none.
func archiveName(file string) (dist, bool) {
	stem, ok := strings.CutSuffix(file, ".conda")
	if !ok {
		if stem, ok = strings.CutSuffix(file, ".tar.bz2"); !ok {
			return dist{}, false
		}
	}
	j := strings.LastIndexByte(stem, '-')
	if j < 0 {
		return dist{}, false
	}
	i := strings.LastIndexByte(stem[:j], '-')
	if i < 0 {
		return dist{}, false
	}
	return dist{stem[:i], stem[i+1 : j], stem[j+1:]}, true
}

// buildNumber is the number that the digits at the end of a build string make;
// 0 if there are none.
func buildNumber(build string) int64 {
	i := len(build)
	for i > 0 && build[i-1] >= '0' && build[i-1] <= '9' {
		i--
	}
	n, err := strconv.ParseInt(build[i:], 10, 64)
	if err != nil {
		return 0 // no digits, or more of them than a number holds
	}
	return n
}

// subdir is the segment before an archive's name, if it is one; "" else, and
// for anything but http, https and file URLs.
func (p place) subdir() string {
	switch p.scheme {
	case "http", "https", "file":
	default:
		return ""
	}
	if len(p.segments) < 2 || !KnownSubdir(p.segments[len(p.segments)-2]) {
		return ""
	}
	if _, ok := archiveName(p.file); !ok {
		return ""
	}
	return p.segments[len(p.segments)-2]
}

// channel is a URL without its last two path segments and without a trailing
// slash; "" for a path, and for a file URL, which is another way to write one.
func (p place) channel() string {
	if p.head == "" || p.scheme == "file" {
		return ""
	}
	rest := p.path
	for range 2 {
		if i := strings.LastIndexByte(rest, '/'); i >= 0 {
			rest = rest[:i]
		}
	}
	return strings.TrimRight(p.head+rest, "/")
}

// noarchOf guesses the kind of a noarch package; "" for other subdirs.
func noarchOf(subdir, build string) string {
	switch {
	case subdir != "noarch":
		return ""
	case strings.Contains(build, "py"):
		return "python"
	default:
		return "generic"
	}
}

// given are the keys of an entry that its location can stand in for; nil =
// the entry does not have the key.
type given struct {
	name, version, build, subdir, noarch, channel, fileName *string
	buildNumber                                             *int64
}

// fill completes a package: an explicit key wins, what is missing follows from
// the location, and what neither tells is an error that names the key.
func (g given) fill(pkg *CondaPackage) error {
	at := placeOf(pkg.Location)
	d, isArchive := archiveName(at.file)
	derivedSubdir := at.subdir()

	pkg.URL = pkg.Location
	pkg.Local = at.scheme == "" || at.scheme == "file"
	pkg.FileName = pick(g.fileName, at.file)
	pkg.Name = pick(g.name, d.name)
	pkg.Version = pick(g.version, d.version)
	pkg.Build = pick(g.build, d.build)
	pkg.Subdir = pick(g.subdir, derivedSubdir)
	pkg.Channel = RedactChannel(pick(g.channel, at.channel()))
	pkg.BuildNumber = buildNumber(pkg.Build)
	if g.buildNumber != nil {
		pkg.BuildNumber = *g.buildNumber
	}

	// The guess goes by the location even where subdir or build are explicit.
	subdir, build := pkg.Subdir, pkg.Build
	if derivedSubdir != "" {
		subdir = derivedSubdir
	}
	if isArchive {
		build = d.build
	}
	pkg.Noarch = noarchOf(subdir, build)
	if g.noarch != nil {
		kind, err := noarchKind(*g.noarch)
		if err != nil {
			return err
		}
		pkg.Noarch = kind
	}
	pkg.Arch, pkg.OS = subdirs[pkg.Subdir][0], subdirs[pkg.Subdir][1]

	for _, key := range []struct{ name, value string }{{"name", pkg.Name}, {"version", pkg.Version}, {"subdir", pkg.Subdir}} {
		if key.value == "" {
			return fmt.Errorf("`%s` is neither given nor can it be told from the location", key.name)
		}
	}
	switch {
	case !isArchive:
		pkg.FileName = "" // a source package has none, an archive always has
	case pkg.FileName == "":
		pkg.FileName = at.file
	}
	// These become parts of file names.
	for _, key := range []struct{ name, value string }{
		{"name", pkg.Name}, {"version", pkg.Version}, {"build", pkg.Build}, {"subdir", pkg.Subdir}, {"file_name", pkg.FileName},
	} {
		if !safe(key.value) {
			return fmt.Errorf("`%s` is %q, which cannot be part of a file name", key.name, key.value)
		}
	}
	return nil
}

func pick(explicit *string, derived string) string {
	if explicit != nil {
		return *explicit
	}
	return derived
}

func noarchKind(text string) (string, error) {
	switch text {
	case "python", "generic":
		return text, nil
	case "true": // the first noarch scheme, before there were kinds
		return "generic", nil
	case "false", "none":
		return "", nil
	}
	return "", fmt.Errorf("`noarch` must be `python` or `generic`, it is `%s`", text)
}

// safe: printable, no separator, and no name that means a directory.
func safe(part string) bool {
	if part == "." || part == ".." {
		return false
	}
	for _, r := range part {
		if r == ' ' || !unicode.IsPrint(r) || r == '/' || r == '\\' || r == '\uFFFD' {
			return false
		}
	}
	return true
}

func splitFeatures(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) == 0 {
		return nil
	}
	return words
}

// lastSecond is that of the year 9999, in seconds since 1970.
const lastSecond = 253402300799

// milliseconds reads a timestamp that is in seconds or in milliseconds: the
// last second of the year 9999 tells them apart.
func milliseconds(timestamp int64) int64 {
	if timestamp > lastSecond {
		return timestamp
	}
	return timestamp * 1000
}

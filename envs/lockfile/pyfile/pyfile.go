// Package pyfile knows the files that a lock of Python packages lists for a
// package: several wheels and perhaps a source archive, of which a target takes
// one.
//
// Enters: locations, hashes and sizes as uv.lock and pylock.toml have them, and
// a python.Target. Leaves: the file to take, or why none can be taken. Nothing
// here does I/O.
package pyfile

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

// File is one archive that a lock lists.
type File struct {
	// Location is the URL or path exactly as the lock has it.
	Location string
	// Name of the file, nothing percent-encoded.
	Name string
	// SHA256 and MD5 in lower-case hex; "" = the lock does not say.
	SHA256, MD5 string
	// Size in bytes; 0 = the lock does not say.
	Size int64
	// Line of the entry.
	Line int32
	// Wheel is the name taken apart; nil for source archives.
	Wheel *tag.WheelName
}

// IsURL tells a URL from a path.
func IsURL(location string) bool {
	scheme, _, found := strings.Cut(location, ":")
	if !found || len(scheme) < 2 {
		return false
	}
	return strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// NameOf returns the name of the file at a location, decoded; the error says
// that it has none.
func NameOf(location string) (string, error) {
	last := path.Base(location)
	if IsURL(location) {
		u, err := url.Parse(location)
		if err != nil {
			return "", fmt.Errorf("%s: it is no URL", lockfile.RedactURL(location))
		}
		last = path.Base(u.Path)
	}
	if last == "." || last == ".." || last == "/" || strings.ContainsAny(last, "\x00\\/") {
		return "", fmt.Errorf("%s: its last part is not the name of a file", lockfile.RedactURL(location))
	}
	return last, nil
}

// IndexURL is the URL of an index as packages have it: without credentials and
// trailing slash.
func IndexURL(location string) string {
	return strings.TrimRight(lockfile.RedactURL(location), "/")
}

// SetHash takes a hash; algorithms that nothing here verifies are passed over.
// The error says that the digest is none.
func (f *File) SetHash(algorithm, digest string) error {
	into, size := &f.SHA256, 32
	switch strings.ToLower(algorithm) {
	case "sha256":
	case "md5":
		into, size = &f.MD5, 16
	default:
		return nil
	}
	if b, err := hex.DecodeString(digest); err != nil || len(b) != size {
		return fmt.Errorf("`%.150s` is not the hex digest of %s", digest, algorithm)
	}
	*into = strings.ToLower(digest)
	return nil
}

// SetWheel takes the name apart and checks that it is a wheel of the package.
// version "" is not compared.
func (f *File) SetWheel(project, version string) error {
	w, err := tag.ParseWheelName(f.Name)
	if err != nil {
		return err
	}
	if !name.Equal(w.Project, project) {
		return fmt.Errorf("the wheel %.200s is not one of `%.100s`", f.Name, project)
	}
	if version != "" && !SameVersion(w.Version, version) {
		return fmt.Errorf("the wheel %.200s is not of version %.100s", f.Name, version)
	}
	f.Wheel = w
	return nil
}

// Verified tells whether what is fetched can be checked, and if not, why.
func (f *File) Verified() error {
	if f.SHA256 != "" || !IsURL(f.Location) || strings.HasPrefix(strings.ToLower(f.Location), "file:") {
		return nil
	}
	return fmt.Errorf("the lock has no sha256 of %s, so what is fetched cannot be checked", f.Name)
}

// Into fills in what a package takes from its file.
func (f *File) Into(p *lockfile.PyPIPackage) {
	p.Location, p.URL, p.FileName = f.Location, f.Location, f.Name
	p.SHA256, p.MD5, p.Size = f.SHA256, f.MD5, f.Size
	if IsURL(f.Location) {
		p.URL, _, _ = strings.Cut(f.Location, "#")
	}
	p.Local = !IsURL(f.Location) || strings.HasPrefix(strings.ToLower(f.Location), "file:")
	p.Kind = lockfile.PyPISdist
	if f.Wheel != nil {
		p.Kind = lockfile.PyPIWheel
	}
}

// Best returns the wheel that fits the target best; nil if none does.
func Best(tags *tag.Set, wheels []*File) *File {
	names := make([]*tag.WheelName, len(wheels))
	for i, w := range wheels {
		names[i] = w.Wheel
	}
	if i := tags.Best(names); i >= 0 {
		return wheels[i]
	}
	return nil
}

// most wheels of one package that a message lists.
const most = 40

// None says that no wheel fits: every wheel with the reason.
func None(target *python.Target, wheels []*File) string {
	if len(wheels) == 0 {
		return "the lock lists no wheel and no source archive"
	}
	var list []string
	for i, w := range wheels {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(wheels)-most))
			break
		}
		list = append(list, w.Name+" "+target.WhyNot(w.Wheel))
	}
	return fmt.Sprintf("no wheel is for %s and there is no source archive: %s", target, strings.Join(list, "; "))
}

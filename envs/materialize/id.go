package materialize

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"sort"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// idInput is what an environment id is computed from. Its JSON is canonical:
// fields in the order written here, packages sorted, lists as the lock has them.
// A change of its form changes every id: it goes with a new LinkerVersion.
type idInput struct {
	Linker     int          `json:"linker"`
	PrefixRoot string       `json:"prefix_root"`
	Own        bool         `json:"own"` // prefixes are the trees themselves
	Options    Options      `json:"options"`
	Platforms  []idPlatform `json:"platforms"`
}

type idPlatform struct {
	Subdir   string     `json:"subdir"`
	Packages []idRecord `json:"packages"`
}

// idRecord is a locked record as far as it reaches a prefix.
type idRecord struct {
	SHA256                 string   `json:"sha256"`
	MD5                    string   `json:"md5,omitempty"`
	Size                   int64    `json:"size,omitempty"`
	URL                    string   `json:"url"`
	FileName               string   `json:"fn"`
	Channel                string   `json:"channel,omitempty"`
	Name                   string   `json:"name"`
	Version                string   `json:"version"`
	Build                  string   `json:"build"`
	BuildNumber            int64    `json:"build_number"`
	Subdir                 string   `json:"subdir"`
	Noarch                 string   `json:"noarch,omitempty"`
	Depends                []string `json:"depends,omitempty"`
	Constrains             []string `json:"constrains,omitempty"`
	Features               string   `json:"features,omitempty"`
	TrackFeatures          []string `json:"track_features,omitempty"`
	License                string   `json:"license,omitempty"`
	LicenseFamily          string   `json:"license_family,omitempty"`
	PythonSitePackagesPath string   `json:"python_site_packages_path,omitempty"`
	Timestamp              int64    `json:"timestamp,omitempty"`
	Purls                  []string `json:"purls,omitempty"`
	HasPurls               bool     `json:"has_purls,omitempty"`
	Arch                   string   `json:"arch,omitempty"`
	OS                     string   `json:"os,omitempty"`
}

// ID is the environment id: 32 hex digits over all that decides the bytes of its
// prefixes. perPlatform is the environment by conda subdir; platforms that the
// store's FORMAT does not list, or that the environment lacks, do not count.
// prefixRoot is the store's PrefixRoot: the
// cluster's, or in a user's own store the path of the store. The order of packages does not matter; the
// same input always gives the same id.
func ID(f cache.Format, prefixRoot string, perPlatform map[string]*lockfile.Platform, opt Options) string {
	in := idInput{Linker: LinkerVersion, PrefixRoot: prefixRoot, Own: f.PrefixRoot == "", Options: opt}
	subdirs := append([]string(nil), f.Platforms...)
	sort.Strings(subdirs)
	for i, subdir := range subdirs {
		p := perPlatform[subdir]
		if p == nil || i > 0 && subdirs[i-1] == subdir {
			continue
		}
		out := idPlatform{Subdir: subdir, Packages: make([]idRecord, 0, len(p.Conda))}
		for _, c := range p.Conda {
			out.Packages = append(out.Packages, newIDRecord(c))
		}
		sort.Slice(out.Packages, func(i, j int) bool {
			a, b := out.Packages[i], out.Packages[j]
			if a.Name != b.Name {
				return a.Name < b.Name
			}
			if a.SHA256 != b.SHA256 {
				return a.SHA256 < b.SHA256
			}
			return a.URL < b.URL
		})
		in.Platforms = append(in.Platforms, out)
	}
	data, err := json.Marshal(in)
	if err != nil {
		// Strings, numbers and booleans always marshal.
		panic(fmt.Sprintf("environment id: %v", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func newIDRecord(c *lockfile.CondaPackage) idRecord {
	return idRecord{
		SHA256: c.SHA256, MD5: c.MD5, Size: c.Size,
		URL: withoutCredentials(c.URL), FileName: c.FileName, Channel: withoutCredentials(c.Channel),
		Name: c.Name, Version: c.Version, Build: c.Build, BuildNumber: c.BuildNumber, Subdir: c.Subdir, Noarch: c.Noarch,
		Depends: c.Depends, Constrains: c.Constrains, Features: c.Features, TrackFeatures: c.TrackFeatures,
		License: c.License, LicenseFamily: c.LicenseFamily, PythonSitePackagesPath: c.PythonSitePackagesPath,
		Timestamp: c.Timestamp, Purls: c.Purls, HasPurls: c.HasPurls, Arch: c.Arch, OS: c.OS,
	}
}

// tokenPath is how a conda server carries a token within a URL's path.
var tokenPath = regexp.MustCompile(`^/t/[^/]+/`)

// withoutCredentials removes what a URL may carry to prove who asks: user and
// password, a /t/<token>/ path, a query. Ids and records hold none of it.
func withoutCredentials(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Scheme == "file" {
		return s
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	out := u.String()
	if loc := tokenPath.FindString(u.EscapedPath()); loc != "" {
		out = strings.Replace(out, loc, "/", 1)
	}
	return out
}

package lockfile

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/envs/python/name"
)

// pypiName is what a Python package may be called (core metadata).
var pypiName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`) })

// complete fills in what a Python package's location tells. archive: a path
// whose name is an archive's is one, not a directory that is called so.
func (p *PyPIPackage) complete(archive bool) error {
	if !pypiName().MatchString(p.Name) {
		return fmt.Errorf("%q is no name for a Python package", p.Name)
	}
	if !safe(p.Version) {
		return fmt.Errorf("`version` is %q, which cannot be part of a file name", p.Version)
	}
	location := p.Location
	if rest, ok := strings.CutPrefix(location, "git+"); ok {
		return p.completeGit(rest)
	}
	if rest, ok := strings.CutPrefix(location, "direct+"); ok {
		location, p.Direct = rest, true
	}
	p.URL = location
	s := ""
	if isURL(location) {
		s = scheme(location)
		if err := p.takeFragment(); err != nil {
			return err
		}
	}
	p.Local = s == "" || s == "file"
	p.Direct = p.Direct || p.Local && p.Index == ""
	p.FileName = placeOf(strings.TrimSuffix(p.URL, "/")).file
	switch {
	case p.Local && !(archive && archiveSuffix(p.FileName)):
		p.Kind, p.FileName = PyPIDirectory, ""
	case strings.HasSuffix(p.FileName, ".whl"):
		p.Kind = PyPIWheel
	default:
		p.Kind = PyPISdist
	}
	if !safe(p.FileName) {
		return fmt.Errorf("the location's last part, %q, cannot be the name of a file", p.FileName)
	}
	return nil
}

// takeFragment takes hashes and a subdirectory from behind the # of a URL.
func (p *PyPIPackage) takeFragment() error {
	at, fragment, _ := strings.Cut(p.URL, "#")
	p.URL = at
	for _, part := range strings.Split(fragment, "&") {
		key, text, _ := strings.Cut(part, "=")
		var have *string
		switch key {
		case "sha256":
			have = &p.SHA256
		case "md5":
			have = &p.MD5
		case "subdirectory":
			sub, err := url.PathUnescape(text)
			if err != nil {
				return fmt.Errorf("the subdirectory in its location: %w", err)
			}
			p.Subdirectory = sub
			continue
		default:
			continue // egg=NAME and the like
		}
		text = strings.ToLower(text)
		if *have != "" && *have != text {
			return fmt.Errorf("`%s` is %s, but %s behind the # of its location", key, *have, text)
		}
		*have = text
	}
	return nil
}

var commitHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`) })

// completeGit reads repository?rev=…&subdirectory=…#commit, as pixi and uv write
// it, and repository@revision, as pip does.
func (p *PyPIPackage) completeGit(location string) error {
	p.Kind, p.Direct = PyPIGit, true
	rest, fragment, _ := strings.Cut(location, "#")
	rest, query, _ := strings.Cut(rest, "?")
	var kept []string
	for _, part := range strings.Split(query, "&") {
		key, text, _ := strings.Cut(part, "=")
		text, err := url.QueryUnescape(text)
		if err != nil {
			return fmt.Errorf("the query of its location: %w", err)
		}
		switch key {
		case "subdirectory":
			p.Subdirectory = text
		case "rev", "tag", "branch":
			p.Ref = text
		case "lfs":
		case "":
		default:
			kept = append(kept, part)
		}
	}
	for _, part := range strings.Split(fragment, "&") {
		if sub, ok := strings.CutPrefix(part, "subdirectory="); ok {
			p.Subdirectory = sub
		} else if commitHash().MatchString(part) {
			p.Commit = part
		}
	}
	// An @ behind the host, not the one between user and host.
	head, tail, _ := strings.Cut(rest, "://")
	if slash := strings.IndexByte(tail, '/'); slash >= 0 {
		if i := strings.LastIndexByte(tail, '@'); i > slash {
			if p.Ref == "" {
				p.Ref = tail[i+1:]
			}
			rest = head + "://" + tail[:i]
		}
	}
	if p.Commit == "" && commitHash().MatchString(p.Ref) {
		p.Commit = p.Ref
	}
	p.URL = rest
	if kept != nil {
		p.URL += "?" + strings.Join(kept, "&")
	}
	p.Local = scheme(rest) == "file"
	if p.Commit == "" {
		return errors.New("its location names no commit (40 hex digits behind #): what is installed would depend on the day")
	}
	return nil
}

// archiveSuffix tells the name of a Python archive.
func archiveSuffix(name string) bool {
	for _, suffix := range [...]string{".whl", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.Z", ".tgz", ".tbz", ".tar", ".zip"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// NormalizedName is the name as it is compared: lower case, runs of - _ . as
// one - (PEP 503).
func (p *PyPIPackage) NormalizedName() string { return name.Normalize(p.Name) }

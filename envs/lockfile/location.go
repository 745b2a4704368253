package lockfile

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// isURL: a scheme of two letters or more (one letter is a Windows drive).
func isURL(location string) bool {
	return len(scheme(location)) > 1
}

// scheme in lower case; "" if there is none.
func scheme(location string) string {
	i := strings.IndexByte(location, ':')
	if i <= 0 {
		return ""
	}
	for j := 0; j < i; j++ {
		c := location[j]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (j == 0 || !(c >= '0' && c <= '9' || c == '+' || c == '.' || c == '-')) {
			return ""
		}
	}
	return strings.ToLower(location[:i])
}

// place is a location taken apart.
type place struct {
	scheme string // "" for a path
	// head is scheme and authority as written, path the encoded path of a URL;
	// both "" for a path and for what cannot be taken apart.
	head, path string
	// segments of a URL's path, decoded.
	segments []string
	// file is the last segment of a URL or path; "" where it ends in a slash.
	file string
}

func placeOf(location string) place {
	if !isURL(location) {
		var p place
		if !strings.HasSuffix(location, "/") {
			p.file = path.Base(location)
		}
		return p
	}
	p := place{scheme: scheme(location)}
	u, err := url.Parse(location)
	if err != nil || u.Path == "" || u.Opaque != "" {
		return p
	}
	p.segments = strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	p.file = p.segments[len(p.segments)-1]
	p.path = u.EscapedPath()
	if head, rest, found := strings.Cut(location, "://"); found {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		p.head = head + "://" + rest
	}
	return p
}

// fileName is the last segment of a location; "" where it ends in a slash.
func fileName(location string) string { return placeOf(location).file }

// normalize gives equal locations equal text: a file URL is its path, and paths
// are cleaned without losing a leading "..". Version 6 compares so; version 7
// compares what is written.
func normalize(location string) string {
	if scheme(location) == "file" {
		if u, err := url.Parse(location); err == nil && (u.Host == "" || u.Host == "localhost") && u.Path != "" {
			return path.Clean(u.Path)
		}
		return location
	}
	if isURL(location) {
		return location
	}
	return path.Clean(location)
}

// Resolve makes URLs out of the relative locations of all packages, taken as
// relative to dir, the absolute path of the directory in which the lock lies.
// Location, and with it the record, stays as the lock has it.
func (l *Lock) Resolve(dir string) {
	for _, env := range l.Environments {
		for _, platform := range env.Platforms {
			for _, pkg := range platform.Conda {
				if !isURL(pkg.Location) {
					pkg.URL = fileURL(dir, pkg.Location)
				}
			}
			for _, pkg := range platform.PyPI {
				if !isURL(pkg.Location) {
					pkg.URL = fileURL(dir, pkg.Location)
				}
			}
		}
	}
}

func fileURL(dir, location string) string {
	if !path.IsAbs(location) {
		location = filepath.Join(dir, filepath.FromSlash(location))
	}
	u := url.URL{Scheme: "file", Path: path.Clean(filepath.ToSlash(location))}
	return u.String()
}

// RedactURL returns a location without its credentials: the user and password
// before the host, a conda token (/t/<TOKEN>/) in the path, and the values of a
// query's parameters (signed URLs carry secrets there). It works on
// text, so that nothing escapes it because it cannot be parsed. What is no URL
// is returned as it is.
func RedactURL(location string) string {
	head, rest, found := strings.Cut(location, "://")
	if !found {
		return location
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	authority = authority[strings.LastIndexByte(authority, '@')+1:]

	stop := strings.IndexAny(tail, "?#")
	if stop < 0 {
		stop = len(tail)
	}
	return head + "://" + authority + dropToken(tail[:stop]) + starValues(tail[stop:])
}

// starValues puts stars in the place of a query's values; a parameter that is no
// more than a word may be a secret itself.
func starValues(query string) string {
	if !strings.HasPrefix(query, "?") {
		return query
	}
	query, fragment, found := strings.Cut(query[1:], "#")
	parts := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, part := range parts {
		name, _, named := strings.Cut(part, "=")
		if parts[i] = "***"; named {
			parts[i] = name + "=***"
		}
	}
	out := "?" + strings.Join(parts, "&")
	if found {
		out += "#" + fragment
	}
	return out
}

// RedactChannel is RedactURL for the URL of a channel or another directory, in
// which a token may be all of the path, and without trailing slash.
func RedactChannel(url string) string {
	return strings.TrimRight(RedactURL(strings.TrimRight(url, "/")+"/"), "/")
}

// dropToken removes every /t/<TOKEN> from a path; a channel that is called "t"
// is known by the subdir behind it.
func dropToken(p string) string {
	for from := 0; ; {
		i := strings.Index(p[from:], "/t/")
		if i < 0 {
			return p
		}
		i += from
		token, _, more := strings.Cut(p[i+len("/t/"):], "/")
		if !more || KnownSubdir(token) {
			from = i + len("/t")
			continue
		}
		p = p[:i] + p[i+len("/t/")+len(token):]
		from = i
	}
}

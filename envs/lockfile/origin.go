package lockfile

import (
	"path"
	"slices"
	"strings"
)

// Origin is the channel that the package's location lies in, as a URL without
// trailing slash and without credentials; whatever the lock says in its channel
// key, which anybody can write there. A file URL names a directory of this host.
// "" where the location is none of a package in a channel: a relative path, a URL
// with a query, one whose path a server would read differently.
func (c *CondaPackage) Origin() string {
	at := placeOf(c.Location)
	if at.scheme == "" && path.IsAbs(c.Location) {
		at = place{scheme: "file", head: "file://", path: c.Location, file: path.Base(c.Location), segments: strings.Split(c.Location[1:], "/")}
	}
	n := len(at.segments)
	if at.head == "" || n < 2 || strings.ContainsAny(c.Location, "?#\\") || !KnownSubdir(at.segments[n-2]) {
		return ""
	}
	if _, ok := archiveName(at.file); !ok {
		return ""
	}
	if slices.ContainsFunc(at.segments, func(s string) bool {
		return s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\\\x00")
	}) {
		return ""
	}
	return RedactChannel(at.head + path.Dir(path.Dir(at.path)))
}

// Package version knows what this program is called in messages and records.
package version

import "runtime/debug"

// set by the linker in releases: -X …/internal/version.set=1.2.3
var set string

// String returns the release, or the commit that was built, or "devel".
func String() string {
	if set != "" {
		return set
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	if len(revision) < 12 {
		return "devel"
	}
	return "devel-" + revision[:12] + modified
}

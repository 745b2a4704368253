package prepared

import (
	"os"
	"path/filepath"
	"strings"
)

// NearIn is the directory in the prefix root that root fills, where environments are
// mounted one by one: with what activation reads of those that this node has a copy of. In
// it are ID and one of the endings below, as the store's meta/ID has them after the
// platform, and NearActivation.
const NearIn = ".near"

// Endings of what the store has of an environment. Of NearOverlays an empty file says that
// there are none.
const (
	NearDescription = ".json"
	NearNeeds       = ".needs.json"
	NearOverlays    = ".overlays.json"
)

// NearActivation is the name of the pinned part of a manifest, by its digest.
func NearActivation(digest string) string { return digest + ".activation" }

// NearOf is the Near of a prefix root as this process sees it; "" = nothing was mounted
// there for it one by one. Where trees are, nothing is looked at but this process's mounts.
func NearOf(prefixRoot string) string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	memory := false
	for line := range strings.Lines(string(mounts)) {
		head, tail, _ := strings.Cut(line, " - ")
		if f := strings.Fields(head); len(f) > 4 && f[4] == prefixRoot {
			memory = strings.HasPrefix(tail, "tmpfs ") // the last one covers the others
		}
	}
	if !memory {
		return ""
	}
	return filepath.Join(prefixRoot, NearIn)
}

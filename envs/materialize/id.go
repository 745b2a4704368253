package materialize

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// idInput is what an environment id is computed from. Its JSON is canonical:
// fields in the order written here, platforms and packages sorted, records as
// lockfile's Record makes them. A change of its form changes every id: it goes
// with a new LinkerVersion.
type idInput struct {
	Linker     int    `json:"linker"`
	PrefixRoot string `json:"prefix_root"`
	// Own: prefixes are the store's trees themselves.
	Own       bool         `json:"own"`
	Options   Options      `json:"options"`
	Platforms []idPlatform `json:"platforms"`
}

type idPlatform struct {
	Subdir   string            `json:"subdir"`
	Packages []json.RawMessage `json:"packages"`
	// Wheels are left out where there are none, as there were before wheels; so is
	// a Python of its own.
	Wheels []json.RawMessage `json:"wheels,omitempty"`
	Python json.RawMessage   `json:"python,omitempty"`
}

// ID is the environment id: 32 hex digits over all that decides the bytes of its
// prefixes. perPlatform is the environment by conda subdir; platforms that the
// store's FORMAT does not list, or that the environment lacks, do not count.
// prefixRoot is the store's PrefixRoot: the cluster's, or in a user's own store
// the path of the store. The order of packages does not matter; the same input
// always gives the same id.
func ID(f cache.Format, prefixRoot string, perPlatform map[string]*lockfile.Platform, opt Options) string {
	in := idInput{Linker: LinkerVersion, PrefixRoot: prefixRoot, Own: f.PrefixRoot == "", Options: opt}
	for _, subdir := range slices.Compact(slices.Sorted(slices.Values(f.Platforms))) {
		p := perPlatform[subdir]
		if p == nil {
			continue
		}
		out := idPlatform{Subdir: subdir, Packages: make([]json.RawMessage, 0, len(p.Conda))}
		for _, c := range slices.SortedFunc(slices.Values(p.Conda), compareLocked) {
			out.Packages = append(out.Packages, c.Record())
		}
		out.Wheels, out.Python = idWheels(p), idStandalone(p)
		in.Platforms = append(in.Platforms, out)
	}
	// An encoder that escapes for HTML would change the records' own form.
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in); err != nil {
		panic(fmt.Sprintf("environment id: %v", err)) // texts, numbers and records always have a JSON form
	}
	sum := sha256.Sum256(data.Bytes())
	return hex.EncodeToString(sum[:16])
}

// compareLocked orders locked packages by name, then by all of their record.
func compareLocked(a, b *lockfile.CondaPackage) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return bytes.Compare(a.Record(), b.Record())
}

package oracle

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// AllowedLocks is every difference between what hpcenv and rattler read in a
// lock.
var AllowedLocks = []Allowance{
	{
		Path: `.+`, Field: `channels`, Holds: butSlashes,
		Reason: "channels have no trailing slash",
	},
	{
		Path: `.+`, Field: `record`, Key: `channel`, Holds: butSlashes,
		Reason: "channels have no trailing slash",
	},
	{
		Path: `.+`, Field: `record`, Key: `constrains`, Holds: func(d Difference, _ []Difference) bool { return d.Rattler == "" && d.Hpcenv == "[]" },
		Reason: "an empty list of constraints is written",
	},
	{
		Path: `.+`, Field: `record`, Key: `track_features`, Holds: joined,
		Reason: "a list, which is what conda writes",
	},
	{
		Path: `.+`, Field: `requires_python`, Holds: butBlanksAndOrder,
		Reason: "specifiers stay as the lock has them",
	},
	{
		Path: `.+`, Field: `requires_dist`, Holds: sameNames,
		Reason: "requirements stay as the lock has them; that rattler's own text is read letter by letter, its rewritten locks show",
	},
	{
		Path: `.+ pypi .+`, Field: `version`, Holds: func(d Difference, _ []Difference) bool { return d.Rattler == "<dynamic>" },
		Reason: "rattler forgets the version of a source tree",
	},
	{
		Case: `.*/pypi-missing-version/pixi\.lock`, Path: `.+ pypi .+`, Field: `version`, Holds: func(d Difference, _ []Difference) bool { return d.Rattler == "0a0.dev0" },
		Reason: "a version that the lock does not say is none",
	},
	{
		Path: `.+ pypi \.{0,2}/?[a-z_-]*/?`, Field: `sha256`, Holds: only("hpcenv"),
		Reason: "rattler forgets the hash of a source tree",
	},
	{
		Case: `.*/pypi-index-transitive/pixi\.lock`, Path: `.+ pypi .+`, Field: `sha256`, Holds: func(d Difference, _ []Difference) bool {
			return d.Rattler == "" && strings.Trim(d.Hpcenv, "1") == ""
		},
		Reason: "rattler takes a hash of digits alone for a number, and drops it",
	},
	{
		Case: `rewritten/.*`, Path: `.+`, Field: `index`, Holds: func(d Difference, _ []Difference) bool { return d.Hpcenv == "" },
		Reason: "an index that the lock does not say is the environment's first one",
	},
	{
		Case: condaLocks, Path: `.+`, Field: `record`, Key: `depends`, Holds: butVersions,
		Reason: "specs stay as the lock has them",
	},
	{
		Case: condaLocks, Path: `.+ conda .+`, Field: `record`, Key: `arch|platform`, Holds: only("hpcenv"),
		Reason: "they follow from the subdir",
	},
	{
		Path: `.+ osx-arm64 conda .+`, Field: `record`, Key: `arch`, Holds: func(d Difference, _ []Difference) bool { return d.Rattler == "aarch64" && d.Hpcenv == "arm64" },
		Reason: "it follows from the subdir, whatever old files say",
	},
	{
		Case: `rewritten/.*/v4/.*`, Path: `.+`, Field: `record`, Key: `|arch|platform|subdir`,
		Reason: "rattler writes one entry for an archive of which the lock has one per platform",
	},
	{
		Case: condaLocks, Path: `default .+`, Field: `package`, Holds: only("rattler"),
		Reason: "rattler knows no categories: others than main make environments of their own",
	},
	{
		Case: condaLocks, Path: `dev|test`, Field: `environment`, Holds: only("hpcenv"),
		Reason: "rattler knows no categories: others than main make environments of their own",
	},
}

// condaLocks are files of version 1.
const condaLocks = `.*conda-lock.*/(v0/)?[^/]*conda-lock[^/]*\.yml|Quantco__pixi-pack/examples/auth/pixi\.lock`

func joined(d Difference, _ []Difference) bool {
	var list []string
	return json.Unmarshal([]byte(d.Hpcenv), &list) == nil && strings.Join(list, " ") == d.Rattler
}

// butBlanksAndOrder: the same specifiers.
func butBlanksAndOrder(d Difference, _ []Difference) bool {
	strip := func(s string) string {
		parts := strings.Split(strings.ReplaceAll(s, " ", ""), ",")
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	return strip(d.Rattler) == strip(d.Hpcenv)
}

// sameNames: as many requirements, of the same packages in the same order.
func sameNames(d Difference, _ []Difference) bool {
	names := func(text string) string {
		var out []string
		for _, line := range strings.Split(text, "\n") {
			end := strings.IndexAny(line, " <>=!~[;(@")
			if end < 0 {
				end = len(line)
			}
			out = append(out, strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(line[:end])))
		}
		return strings.Join(out, " ")
	}
	return names(d.Rattler) == names(d.Hpcenv)
}

// butVersions: rattler writes "==1" for "1", and versions without zeros in front.
func butVersions(d Difference, _ []Difference) bool {
	strip := func(s string) string {
		return leadingZeros.ReplaceAllString(strings.ReplaceAll(s, " ==", " "), ".$1")
	}
	return strip(d.Rattler) == strip(d.Hpcenv)
}

var leadingZeros = regexp.MustCompile(`\.0+([0-9])`)

func butSlashes(d Difference, _ []Difference) bool {
	var out []string
	for _, url := range strings.Fields(d.Rattler) {
		out = append(out, strings.TrimRight(url, "/"))
	}
	return strings.Join(out, " ") == d.Hpcenv
}

// LockRefusals are locks that only one of the two reads.
var LockRefusals = []Refusal{
	{
		Case: `.*/v3/.*`, Who: "hpcenv", Says: "version 3 .* is not read.*`pixi lock`",
		Reason: "nobody writes versions 2 and 3 any more; pixi rewrites them",
	},
	{
		Case: `conda__conda-lock/.*`, Who: "rattler", Says: "variant of untagged enum MapOrVec",
		Reason: "conda-lock writes dependencies that have several specs as a list",
	},
	{
		Case: `conda__conda-lock/tests/test-lockfile/.*`, Who: "rattler", Says: `string "conda-forge", expected struct`,
		Reason: "old conda-locks wrote a channel as its name",
	},
}

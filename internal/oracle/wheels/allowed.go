package wheels

import (
	"strings"

	"github.com/hpcenv/hpcenv/internal/oracle"
)

const (
	distInfo  = `lib/python[0-9.]+t?/site-packages/[^/]+\.dist-info/`
	record    = distInfo + `RECORD`
	ownRow    = `[^/]+\.dist-info/`
	scriptRow = `\.\./\.\./\.\./bin/.+`

	noInstall  = "the two differ by who installs"
	pipCommand = "pip's own text of a command"
	pipEasy    = "pip names old versions of one command after the Python at hand"
	pipDirect  = "pip notes the digest of the archive, which uv leaves out"
)

// AllowedUV is every difference between a wheel that uv installed and one that
// hpcenv did.
var AllowedUV = []oracle.Allowance{
	{Path: distInfo + `INSTALLER`, Field: `content`, Reason: noInstall},
	{Path: record, Field: `row`, Key: ownRow + `INSTALLER`, Holds: both, Reason: noInstall},
	{Path: distInfo + `uv_cache\.json`, Field: `path`, Holds: onlyReference, Reason: "uv's note on its own cache: when the file at a path was changed"},
	{Path: record, Field: `row`, Key: ownRow + `uv_cache\.json`, Holds: onlyReference, Reason: "uv's note on its own cache: when the file at a path was changed"},
}

// AllowedPip is every difference between a wheel that pip installed and one that
// hpcenv did; hpcenv does as uv does.
var AllowedPip = []oracle.Allowance{
	{Path: distInfo + `INSTALLER`, Field: `content`, Reason: noInstall},
	{Path: record, Field: `row`, Key: ownRow + `INSTALLER`, Holds: both, Reason: noInstall},
	{Path: `bin/.+`, Field: `content`, Holds: says("if __name__ == '__main__'"), Reason: pipCommand},
	{Path: record, Field: `row`, Key: scriptRow, Holds: both, Reason: pipCommand},
	{Path: `bin/easy_install-[0-9.]+`, Field: `path`, Shared: true, Reason: pipEasy},
	{Path: record, Field: `row`, Key: `\.\./\.\./\.\./bin/easy_install-[0-9.]+`, Shared: true, Reason: pipEasy},
	{Path: distInfo + `direct_url\.json`, Field: `content`, Holds: says("hashes"), Reason: pipDirect},
	{Path: record, Field: `row`, Key: ownRow + `direct_url\.json`, Holds: both, Reason: pipDirect},
	{
		Path: `bin/.+`, Field: `exec`, Holds: func(d oracle.Difference, _ []oracle.Difference) bool { return d.Hpcenv == "true" },
		Reason: "pip makes only those scripts executable that wait for Python",
	},
	{
		Case: `simple(wheel-2\.0-1|\.dist-0\.1)-.*`, Path: record, Field: `row`, Key: `.+`, Holds: func(d oracle.Difference, all []oracle.Difference) bool { return !onlyHpcenv(d, all) }, Shared: true,
		Reason: "pip keeps rows of files that are not there, and those without size",
	},
	{
		Path: `.+`, Field: `path`, Holds: func(d oracle.Difference, all []oracle.Difference) bool {
			return onlyHpcenv(d, all) && d.Hpcenv == "directory"
		},
		Reason: "pip makes no directories in which nothing is",
	},
}

func both(d oracle.Difference, _ []oracle.Difference) bool { return d.Rattler != "" && d.Hpcenv != "" }

func onlyReference(d oracle.Difference, _ []oracle.Difference) bool {
	return d.Rattler != "" && d.Hpcenv == ""
}

func onlyHpcenv(d oracle.Difference, _ []oracle.Difference) bool {
	return d.Rattler == "" && d.Hpcenv != ""
}

// says: the reference's text holds s.
func says(s string) func(oracle.Difference, []oracle.Difference) bool {
	return func(d oracle.Difference, _ []oracle.Difference) bool { return strings.Contains(d.Rattler, s) }
}

# shellcheck shell=bash
# The Go tool chain is not installed from here: it is not in every
# distribution in the version that go.mod asks for.

# The oldest Go that go.mod accepts, e.g. 1.26.0.
gotool_version() { awk '$1 == "go" { print $2; exit }' "$(dirname "${BASH_SOURCE[0]}")/../../go.mod"; }

gotool_want() { printf 'Go %s or newer (go in PATH)' "$(gotool_version)"; }

gotool_ok() {
	local have want
	command -v go >/dev/null || return 1
	have=$(go env GOVERSION 2>/dev/null) || return 1
	have=${have#go}
	want=$(gotool_version)
	[ "$(printf '%s\n%s\n' "$want" "${have%% *}" | sort -V | head -n 1)" = "$want" ]
}

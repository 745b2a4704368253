#!/bin/bash
# formats.sh: what of other people's files is read and installed as they do it, in
# one table: lock files by format (tried, accepted, refused as expected), what is
# chosen from them and what wheels become compared with the reference programs, and
# times against those in the same run. It runs tests that exist and shows what they
# count. Exits 1 if one of them failed or a figure is short. FORMATS_QUICK=1 leaves
# the wheels and the times out.
set -euo pipefail

cd "$(dirname "$0")/../.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

# counts TITLE ARGUMENT…: what the tests say that `go test` runs with the arguments.
# Lines of a log after its first are indented by eight blanks.
counts() {
	printf '\n%s\n' "$1"
	shift
	if ! go test -count=1 -v "$@" >"$out" 2>&1; then
		failed=1
		cat "$out"
		return
	fi
	awk '
		/^ +[a-z_]+_test\.go:[0-9]+: .*(tried|compared|both do the same|locks)/ { sub(/^ +[a-z_]+_test\.go:[0-9]+: /, "  "); more = /^  format /; print; next }
		/^        / && more { sub(/^        /, "  "); print; next }
		/^(---|===|    ---)/ { more = 0 }
		/SKIP|ABSENT/ { print "  " $0 }' "$out"
}

counts 'lock files, by format' -run '^TestEveryLock$' ./envs/lockfile
counts "conda locks, against py-rattler's reader" -tags oracle -run '^(TestLocks|TestBadLocks)$' ./internal/oracle
counts 'what is chosen from a uv.lock, against uv export' -run 'SameAsUv$' ./envs/lockfile/uvlock
counts 'what is chosen from a pylock.toml, against packaging and pip' -run 'SameAsPackaging$' ./envs/lockfile/pylock
counts 'environments of a uv.lock, against uv sync' -tags oracle ./internal/oracle/uvsync
if [ "${FORMATS_QUICK:-0}" = 0 ]; then
	counts 'wheels, against uv and pip' -tags oracle -timeout 20m ./internal/oracle/wheels
	printf '\ntimes\n'
	contrib/bench/lock.sh || failed=1
fi
exit "$failed"

#!/bin/bash
# fuzz.sh TIME [PACKAGE…]: runs every fuzz target for that long, e.g. 60s, one
# after the other; all packages by default. Exits 1 if one of them found
# something; what it found is then below the package's testdata/fuzz.
set -euo pipefail

time=$1
shift
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- ./...
failed=
while read -r package target; do
	printf '== %s %s\n' "$package" "$target"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" || failed="$failed $package:$target"
done < <(go test -list '^Fuzz' "$@" | awk '
	/^Fuzz/ { targets[n++] = $1 }
	/^ok/ { for (i = 0; i < n; i++) print $2, targets[i]; n = 0 }')
if [ -n "$failed" ]; then
	echo "found something:$failed"
	exit 1
fi

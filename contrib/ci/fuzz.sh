#!/bin/bash
# fuzz.sh TIME [PACKAGE…]: runs every fuzz target for that long, e.g. 60s, one
# after the other; all packages by default. Exits 1 if one of them found
# something; what it found is then below the package's testdata/fuzz.
set -euo pipefail

time=$1
shift
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- ./...
# A package that does not build has no targets: that is a failure, not an end.
list=$(go test -list '^Fuzz' "$@") || {
	printf '%s\n' "$list"
	echo "fuzz: the targets cannot be listed" >&2
	exit 1
}
failed=
count=0
while read -r package target; do
	printf '== %s %s\n' "$package" "$target"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" || failed="$failed $package:$target"
	count=$((count + 1))
done < <(printf '%s\n' "$list" | awk '
	/^Fuzz/ { targets[n++] = $1 }
	/^ok/ { for (i = 0; i < n; i++) print $2, targets[i]; n = 0 }')
if [ -n "$failed" ]; then
	echo "found something:$failed"
	exit 1
fi
if [ "$count" = 0 ]; then
	echo "fuzz: there is no fuzz target in $*" >&2
	exit 1
fi
echo "$count fuzz targets ran for $time each, and found nothing"

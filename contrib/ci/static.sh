#!/bin/bash
# static.sh FILE…: fails unless each FILE is a program without an interpreter
# and without shared libraries. The node helper runs where nothing may be
# assumed about the C library.
set -euo pipefail

for file in "$@"; do
	headers=$(readelf --wide --program-headers --dynamic "$file")
	if grep -qE 'INTERP|\(NEEDED\)' <<<"$headers"; then
		printf 'static.sh: %s is not static:\n' "$file" >&2
		grep -E 'INTERP|\(NEEDED\)' <<<"$headers" >&2
		exit 1
	fi
done

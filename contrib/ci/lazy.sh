#!/bin/bash
# lazy.sh FILE…: fails if a FILE is bound to all functions of its libraries when it
# starts. hpcenv-gpu links the GPU driver's by names that old drivers do not have:
# bound at once it would not even start there.
set -euo pipefail

for file in "$@"; do
	dynamic=$(readelf --wide --dynamic "$file")
	if ! grep -q '(NEEDED)' <<<"$dynamic"; then
		printf 'lazy.sh: %s has no libraries at all\n' "$file" >&2
		exit 1
	fi
	if grep -qE 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic"; then
		printf 'lazy.sh: %s is bound when it starts; next: link it with -Wl,-z,lazy\n' "$file" >&2
		exit 1
	fi
	if grep -q 'libnvidia' <<<"$dynamic"; then
		printf 'lazy.sh: %s needs the driver to start\n' "$file" >&2
		exit 1
	fi
done

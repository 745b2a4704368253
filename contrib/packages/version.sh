#!/bin/bash
# Prints the version of this source tree, as packages have it: X.Y.Z of a tag vX.Y.Z, else
# one that is older than all of these and rises with the commits.
set -euo pipefail

cd "$(dirname "$0")/../.."
if tag=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null); then
	printf '%s\n' "${tag#v}"
elif count=$(git rev-list --count HEAD 2>/dev/null); then
	printf '0.0.%s+g%s\n' "$count" "$(git rev-parse --short=12 HEAD)"
else
	printf '0.0.0\n'
fi

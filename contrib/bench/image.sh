#!/bin/bash
# image.sh: what making images costs (contrib/bench/image). Exits 1 if a figure is
# short.
#
# It works in a folder of /var/tmp, or of HPCENV_BENCH_WORK. Further arguments go to
# `image run`.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../.." && pwd)
bench=${HPCENV_BUILD:-$repo/build}/amd64/imagebench
wheels=$("$repo/contrib/setup/oracle-wheels.sh" make)

# A short path: it becomes part of the prefix, whose length is limited.
work=$(mktemp -d "${HPCENV_BENCH_WORK:-/var/tmp}/bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$bench" run -wheels "$wheels/x86_64" -work "$work" "$@"

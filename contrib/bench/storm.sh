#!/bin/bash
# storm.sh [FLAGS…]: what a start of Python on many nodes at once costs on a parallel
# file system (contrib/bench/storm), by the way in which its environment is there.
# Exits 1 if a figure is short.
#
# The environment is `default` of the demo channel, prepared in a store of the
# benchmark's own.
# Needs root. FLAGS are those of the program: -quick tries it with few nodes.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../.." && pwd)
build=${HPCENV_BUILD:-$repo/build}

# A disk, not memory: local copies are written to it.
work=$(mktemp -d "${HPCENV_BENCH_WORK:-/var/tmp}/storm.XXXXXX")
chmod 755 "$work" # images are opened by a user who is not root
trap 'rm -rf "$work"' EXIT

"$repo/contrib/demo/channel.sh" project "$work/project" path >/dev/null
"$build/amd64/stormbench" run -hpcenv "$build/amd64/hpcenv" -project "$work/project" -work "$work" -png "$build/storm.png" "$@"

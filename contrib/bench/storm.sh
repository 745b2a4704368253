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
# Killed, the benchmark needs a moment to end.
trap 'rm -rf "$work" || { sleep 5; rm -rf "$work"; }' EXIT

"$repo/contrib/demo/channel.sh" project "$work/project" path >/dev/null
# In the background, so that a signal reaches this script at once.
"$build/amd64/stormbench" run -hpcenv "$build/amd64/hpcenv" -project "$work/project" -work "$work" -png "$build/storm.png" "$@" &
pid=$!
# It may have ended by itself, then there is nothing to kill.
trap 'kill "$pid" 2>/dev/null || true' INT TERM
code=0
wait "$pid" || code=$?
trap '' INT TERM
if kill -0 "$pid" 2>/dev/null; then
	wait "$pid" || code=$?
fi
exit "$code"

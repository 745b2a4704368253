#!/bin/bash
# lock.sh: what reading locks costs (contrib/bench/lock) against the reference
# reader. Exits 1 if a figure is short. The lock is one of the shared data;
# HPCENV_BENCH_LOCK=FILE names another. Further arguments go to `lock run`.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../.." && pwd)
bench=${HPCENV_BUILD:-$repo/build}/amd64/lockbench
lock=${HPCENV_BENCH_LOCK:-${HPCENV_SHARED:-$repo/../shared}/data/locks/NVIDIA__numba-cuda/pixi.lock}
if [ ! -f "$lock" ]; then
	printf 'lock.sh: there is no %s; next: set HPCENV_SHARED or HPCENV_BENCH_LOCK\n' "$lock" >&2
	exit 1
fi

# The reference reader is the one that the oracle's tests compare with.
python=$("$repo/contrib/setup/oracle.sh" make)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bench" run -lock "$lock" -python "$python" -work "$work" "$@"

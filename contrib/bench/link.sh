#!/bin/bash
# link.sh: what making prefixes costs (contrib/bench/link) against the reference
# installer. Exits 1 if a figure is short.
#
# As root it works on an ext4 of its own, made in a sparse file, so that neither
# the age nor the options of the machine's file system decide; otherwise, or with
# HPCENV_BENCH_WORK=DIR, in a folder. Further arguments go to `link run`.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../.." && pwd)
bench=${HPCENV_BUILD:-$repo/build}/amd64/linkbench
cache=${HPCENV_CACHE:-/var/cache/hpcenv-dev}

# The reference installer is the one that the oracle's tests compare with.
python=$("$repo/contrib/setup/oracle.sh" make)

# The generated packages depend on their generator only.
key=$(cat "$repo"/contrib/bench/link/stack/*.go | sha256sum | cut -c1-12)
channel=$cache/bench-link-$key

work=${HPCENV_BENCH_WORK:-}
if [ -z "$work" ] && [ "$(id -u)" = 0 ]; then
	# A short path: it becomes part of the prefix, whose length is limited.
	work=$(mktemp -d /var/tmp/bench.XXXXXX)
	# shellcheck disable=SC2317 # called by the trap
	cleanup() {
		mountpoint -q "$work" && umount "$work"
		rm -rf "$work" "$work.ext4"
	}
	trap cleanup EXIT
	truncate -s 40G "$work.ext4"
	mkfs.ext4 -q -F -N 2000000 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$work.ext4"
	mount -o loop "$work.ext4" "$work"
elif [ -z "$work" ]; then
	# A short path: it becomes part of the prefix, whose length is limited.
	work=$(mktemp -d /var/tmp/bench.XXXXXX)
	trap 'rm -rf "$work"' EXIT
fi

rc=0
# Byte-code is measured where there is a Python to make it: on the demo channel.
if [ $# = 0 ]; then
	"${HPCENV_BUILD:-$repo/build}/amd64/pycbench" -channel "$("$repo/contrib/demo/channel.sh" path)" -dir "$work" || rc=1
fi
"$bench" run -channel "$channel" -python "$python" -work "$work" "$@" || rc=1
exit "$rc"

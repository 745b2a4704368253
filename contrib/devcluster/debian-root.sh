#!/bin/bash
# debian-root.sh SUITE ARCH: prints the directory of a Debian root with Slurm
# (SUITE bookworm or trixie, ARCH amd64 or arm64), and makes it first if there
# is none yet. Roots lie in ${HPCENV_CACHE:-/var/cache/hpcenv-dev}, one per
# suite, architecture and content of these scripts: any checkout uses them, no
# cluster writes to them. Needs root. With --check first: makes nothing, and exits
# 1 if there is none.
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
# shellcheck source=contrib/devcluster/lib/common.sh
. "$HERE/lib/common.sh"
# shellcheck source=contrib/devcluster/lib/debian-mirror.sh
. "$HERE/lib/debian-mirror.sh"
# shellcheck source=contrib/devcluster/lib/debian-build.sh
. "$HERE/lib/debian-build.sh"

main() {
	local check=no
	if [ "${1:-}" = --check ]; then
		check=yes
		shift
	fi
	[ $# = 2 ] || die_usage "debian-root.sh [--check] SUITE ARCH"
	local suite=$1 arch=$2 cache key root lock
	case $suite/$arch in
	bookworm/amd64 | bookworm/arm64 | trixie/amd64 | trixie/arm64) ;;
	*) die_usage "no root of Debian $suite for $arch: bookworm or trixie, amd64 or arm64" ;;
	esac
	[ "$(id -u)" = 0 ] || die "needs root to make a Debian root"
	cache=${HPCENV_CACHE:-/var/cache/hpcenv-dev}
	key=$(sha256sum "$HERE/lib/debian-build.sh")
	root=$cache/root-$suite-$arch-${key:0:12}
	if [ "$check" = yes ]; then
		[ -e "$root" ]
		return
	fi
	mkdir -p "$cache"
	# The lock is the cache directory itself: no file is left behind.
	exec {lock}<"$cache"
	flock "$lock"
	if [ ! -e "$root" ]; then
		local began=$SECONDS
		say "making a root of Debian $suite for $arch in $root (once; some minutes)"
		root_make "$suite" "$arch" "$root" "$lock"
		say "the root is ready after $((SECONDS - began)) s"
	fi
	printf '%s\n' "$root"
}

main "$@"

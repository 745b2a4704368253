#!/bin/bash
# Real wheels that `make oracle` installs with the reference installers: those of
# oracle-wheels-*.txt, by name, version and sha256.
#
#   oracle-wheels.sh make    fetch them unless they are there; print their directory
#   oracle-wheels.sh path    print their directory; exit 3 if they were not fetched
#
# They lie in ${HPCENV_CACHE:-/var/cache/hpcenv-dev}/wheels-<key>, one directory
# per architecture; the key covers the lists.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${HPCENV_CACHE:-/var/cache/hpcenv-dev}
key=$(cat "$here"/oracle-wheels-*.txt | sha256sum | cut -c1-12)
dir=$cache/wheels-$key

die() {
	printf 'oracle-wheels.sh: %s\n' "$2" >&2
	exit "$1"
}

# What the wheels are for: CPython 3.11 on a Linux of the last years.
fetch() {
	local arch=$1 platforms=() p
	for p in manylinux_2_28 manylinux_2_17 manylinux2014 manylinux_2_12 manylinux_2_5 manylinux1 linux; do
		platforms+=(--platform "${p}_$arch")
	done
	"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
		--implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none "${platforms[@]}" \
		--dest "$dir/$arch" --requirement "$here/oracle-wheels-$arch.txt"
}

fetch_all() {
	python=$("$here/oracle.sh" make)
	mkdir -p "$cache" || die 1 "cannot write to the cache $cache; set HPCENV_CACHE to a folder of yours"
	# One at a time; who waited finds them fetched.
	(
		flock 9
		[ -e "$dir/ready" ] && exit
		rm -rf "$dir" # what was left of a run that was killed
		mkdir -p "$dir"
		fetch x86_64
		fetch aarch64
		touch "$dir/ready"
	) 9>"$cache/wheels.lock" >&2
}

case ${1-} in
make) fetch_all ;;
path) [ -e "$dir/ready" ] || die 3 "$dir was not filled; next: contrib/setup/oracle-wheels.sh make" ;;
*)
	sed -n '2,/^set -eu/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
	;;
esac
printf '%s\n' "$dir"

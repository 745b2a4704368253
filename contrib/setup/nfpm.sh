#!/bin/bash
# nfpm, which makes the packages of `make packages`, as a program of its own, in the
# version below; nothing of it is linked into hpcenv.
#
#   nfpm.sh make    make it unless it is there; print its path
#   nfpm.sh path    print its path; exit 3 if it was not made
#
# It lies in ${HPCENV_CACHE:-/var/cache/hpcenv-dev}/nfpm-<key>; the key covers the
# version and the tool chain.
set -euo pipefail

nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0
cache=${HPCENV_CACHE:-/var/cache/hpcenv-dev}

die() {
	printf 'nfpm.sh: %s\n' "$2" >&2
	exit "$1"
}

command -v go >/dev/null || die 3 "there is no Go tool chain here; next: make setup"
key=$({
	printf '%s\n' "$nfpm"
	go env GOHOSTOS GOHOSTARCH GOVERSION
} | sha256sum | cut -c1-12)
dir=$cache/nfpm-$key

make_nfpm() {
	mkdir -p "$cache" || die 1 "cannot write to the cache $cache; set HPCENV_CACHE to a folder of yours"
	# One at a time; who waited finds it made.
	(
		flock 9
		[ -e "$dir/ready" ] && exit
		rm -rf "$dir" # what a killed maker left
		mkdir "$dir"
		CGO_ENABLED=0 GOBIN=$dir GOFLAGS=-trimpath go install "$nfpm"
		touch "$dir/ready"
	) 9>"$cache/nfpm.lock" >&2
}

case ${1-} in
make) make_nfpm ;;
path) [ -e "$dir/ready" ] || die 3 "$dir was not made; next: contrib/setup/nfpm.sh make" ;;
*)
	sed -n '2,/^set -eu/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
	;;
esac
printf '%s\n' "$dir/nfpm"

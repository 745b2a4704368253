#!/bin/bash
# The real servers that the tests of s3: and oci: channels fetch from, as programs
# of their own, in the versions below. They are built from source by the Go tool
# chain; nothing of them is linked into hpcenv.
#
#   servers.sh make    make them unless they are there; print their folder
#   servers.sh path    print their folder; exit 3 if they were not made
#
# They lie in ${HPCENV_CACHE:-/var/cache/hpcenv-dev}/servers-<key>; the key covers
# the versions and the tool chain.
set -euo pipefail

servers=(
	github.com/versity/versitygw/cmd/versitygw@v1.8.0       # S3, checks signatures
	github.com/distribution/distribution/v3/cmd/registry@v3.1.2 # OCI, checks tokens
)
cache=${HPCENV_CACHE:-/var/cache/hpcenv-dev}

die() {
	printf 'servers.sh: %s\n' "$2" >&2
	exit "$1"
}

command -v go >/dev/null || die 3 "there is no Go tool chain here; next: make setup"
key=$({
	printf '%s\n' "${servers[@]}"
	go env GOOS GOARCH GOVERSION
} | sha256sum | cut -c1-12)
dir=$cache/servers-$key

make_servers() {
	mkdir -p "$cache" || die 1 "cannot write to the cache $cache; set HPCENV_CACHE to a folder of yours"
	# One maker at a time; who waited finds them made.
	(
		flock 9
		[ -e "$dir/ready" ] && exit
		rm -rf "$dir" # what a killed maker left
		mkdir "$dir"
		local s
		for s in "${servers[@]}"; do
			CGO_ENABLED=0 GOBIN=$dir GOFLAGS=-trimpath go install "$s"
		done
		touch "$dir/ready"
	) 9>"$cache/servers.lock" >&2
}

case ${1-} in
make) make_servers ;;
path) [ -e "$dir/ready" ] || die 3 "$dir was not made; next: contrib/setup/servers.sh make" ;;
*)
	sed -n '2,/^set -eu/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
	;;
esac
printf '%s\n' "$dir"

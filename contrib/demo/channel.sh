#!/bin/sh
# The demo's conda channel: a real CPython and NumPy with all that they need, for
# linux-64 and linux-aarch64, repacked on the spot from Debian packages.
#
#   channel.sh path                  make it if it is not made yet; print its folder
#   channel.sh project DIR [BASE]    also write pixi.lock, pixi.toml, probe.py and job.sh
#                                    to DIR (and others to v7/, small/, x86only/ below it).
#                                    BASE names the channel in the locks: an http, https
#                                    or file URL, or "path"; default: its file URL
#   channel.sh serve [FLAGS…]        serve it over HTTP (mkchannel serve -h)
#   channel.sh packages              print the Debian packages that making it needs
#
# Needs a Debian whose sources have amd64 and arm64, and Go. What is made is kept
# in $HPCENV_CACHE (default /var/cache/hpcenv-dev).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${HPCENV_CACHE:-/var/cache/hpcenv-dev}
packages='bzip2 gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross patchelf'

die() {
	echo "channel.sh: $*" >&2
	exit 1
}

# Everything that decides what the channel holds; the release stands for the
# Debian packages' versions.
content_key() {
	{
		sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
		find "$here" -type f \( -name '*.go' ! -name '*_test.go' -o -path '*/files/*' -o -name probe.py \) | LC_ALL=C sort | xargs cat
	} | sha256sum | cut -c1-12
}

need() {
	missing=
	for pair in bzip2:bzip2 x86_64-linux-gnu-gcc:gcc aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu patchelf:patchelf; do
		command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
	done
	[ -z "$missing" ] || die "missing Debian packages:$missing (apt-get install$missing)"
	for c in apt-get apt-cache dpkg-deb; do
		command -v "$c" >/dev/null 2>&1 || die "$c is not there: the channel is made on Debian from Debian packages"
	done
}

key=$(content_key)
tool=$cache/mkchannel-$key
channel=$cache/channel-$key

build_tool() {
	[ -x "$tool" ] && return
	mkdir -p "$cache" || die "cannot write to the cache $cache: set HPCENV_CACHE to a folder of yours"
	command -v go >/dev/null 2>&1 || die "go is not there (needed to build mkchannel)"
	(cd "$here" && CGO_ENABLED=0 go build -o "$tool.$$" ./mkchannel) && mv "$tool.$$" "$tool"
}

make_channel() {
	build_tool
	[ -d "$channel" ] && return
	need
	# One maker at a time; who waited finds it made.
	(
		flock 9
		[ -d "$channel" ] && exit
		rm -rf "$cache"/.channel-* # what a killed maker left
	 "$tool" make --out "$channel" --cache "$cache/channel-debian" --probe "$here/probe.py" >&2
	) 9>"$cache/channel.lock"
}

case ${1-} in
path)
	make_channel
	echo "$channel"
	;;
project)
	[ $# -ge 2 ] && [ $# -le 3 ] || die "usage: channel.sh project DIR [BASE]"
	make_channel
	"$tool" project --channel "$channel" --out "$2" --base "${3-}"
	for d in "$2" "$2/v7"; do
		cp "$here/probe.py" "$here/job.sh" "$d/"
	done
	for d in "$2/small" "$2/x86only"; do # no Python there
		sed 's/^srun .*/srun hpcenv-demo-prefix/' "$here/job.sh" >"$d/job.sh"
		chmod +x "$d/job.sh"
	done
	;;
serve)
	shift
	make_channel
	exec "$tool" serve --dir "$channel" "$@"
	;;
packages)
	echo "$packages"
	;;
*)
	sed -n '2,/^set -eu/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
	;;
esac

#!/bin/bash
# pack.sh BUILD PAGES OUT VERSION [ARCH…]: makes the deb and rpm packages of what BUILD
# holds (build after `make build`) in OUT, and prints their names. ARCH: amd64, arm64;
# default both. What is in which package, contrib/install/install.sh says.
#
#   hpcenv          the command, manual pages, completions     amd64, arm64
#   hpcenv-slurm    plugin, node helper, prolog, health check  amd64, arm64
#   hpcenv-daemon   the service                                amd64
#
# FORMATS: "deb rpm". QUICK=yes hardly compresses. SOURCE_DATE_EPOCH is the time of all files: the same sources give the same bytes.
set -euo pipefail

[ $# -ge 4 ] || {
	sed -n '2,/^set -eu/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
}
build=$(realpath "$1") pages=$(realpath "$2") version=$4
mkdir -p "$3"
out=$(realpath "$3")
shift 4
here=$(cd "$(dirname "$0")" && pwd)
nfpm=$("$here/../setup/nfpm.sh" make)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:?"SOURCE_DATE_EPOCH is not set: the time of the sources, in seconds"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The newest glibc that one of the programs asks for.
glibc() {
	readelf --version-info "$@" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | cut -d_ -f2
}

# What a package is, beyond its files.
describe() {
	local name=$1 format=$2 arch=$3
	local need=() soft=() text scripts=() s
	case $name in
	hpcenv)
		text='locked environments for Slurm jobs: the command
  hpcenv gives every node of a Slurm job the environment that a lock (pixi.lock, uv.lock,
  conda-lock.yml, pylock.toml) names, fitting that node. This is the users'"'"' command.'
		soft=(bubblewrap squashfuse util-linux)
		;;
	hpcenv-slurm)
		text='locked environments for Slurm jobs: login and compute nodes
  The SPANK plugin, its helper, prolog, epilog and health check. Nothing of it is used
  before plugstack.conf names the plugin.'
		need=("hpcenv (= $version-1)")
		need+=("$(libc "$format" "$build/$arch/hpcenv-gpu" "$build/$arch/hpcenv_spank.so")")
		soft=(squashfuse bubblewrap)
		;;
	hpcenv-daemon)
		text='locked environments for Slurm jobs: the service
  hpcenvd, which fetches, verifies and publishes environments in the store. One host of a
  cluster runs it.'
		need=("hpcenv (= $version-1)" squashfs-tools bubblewrap util-linux)
		need+=("$(libc "$format" "$build/$arch/hpcenvd")")
		;;
	esac
	[ "$format" = deb ] || need=("${need[@]/#hpcenv (= $version-1)/hpcenv = $version-1}")
	# Which accounts-making tool there is, the script asks.
	[ "$name/$format" != hpcenv-daemon/deb ] || need+=(passwd)
	printf '%s\n' "name: $name" "arch: $arch" "platform: linux" "version: \"$version\"" "version_schema: none" "release: \"1\"" \
		"section: admin" "priority: optional" "maintainer: hpcenv <hpcenv@localhost>" \
		"homepage: https://github.com/hpcenv/hpcenv" "mtime: $(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)"
	printf 'description: |\n  %s\n' "$text"
	printf 'depends:\n'
	for s in "${need[@]}"; do printf -- '- "%s"\n' "$s"; done
	printf 'recommends:\n'
	for s in "${soft[@]}"; do printf -- '- %s\n' "$s"; done
	# dpkg reads zstd from Debian 12 on, rpm from EL 8.
	local debs=zstd rpms=zstd
	[ "${QUICK:-no}" = no ] || debs=none rpms=gzip:1
	printf 'deb: {compression: %s}\nrpm: {group: System Environment/Daemons, buildhost: localhost, compression: "%s"}\n' "$debs" "$rpms"
	printf 'scripts:\n'
	for s in postinstall preremove postremove; do
		[ ! -e "$here/scripts/$name.$s" ] || printf '  %s: %s\n' "$s" "$here/scripts/$name.$s"
	done
}

# The dependency on a C library not older than that of the programs, in a format's words.
libc() {
	local format=$1 newest
	shift
	newest=$(glibc "$@")
	case $format in
	deb) printf 'libc6 (>= %s)' "$newest" ;;
	rpm) printf 'libc.so.6(GLIBC_%s)(64bit)' "$newest" ;;
	esac
}

# The lines of a package's contents: the files that install.sh printed.
contents() {
	local root=$1 path to
	printf 'contents:\n'
	while read -r path; do
		to=${path#"$root"}
		case $path in
		*/) printf -- '- {dst: "%s", type: dir, file_info: {mode: 0755}}\n' "${to%/}" ;;
		*) printf -- '- {src: "%s", dst: "%s", file_info: {mode: 0%s}}\n' "${path//\\/\\\\}" "${to//\\/\\\\}" "$(stat -c %a "$path")" ;;
		esac
	done
}

# Where Slurm's PluginDir is in packages of that format, and what else differs.
places() {
	case $1/$2 in
	deb/amd64) printf 'PLUGINDIR=/usr/lib/x86_64-linux-gnu/slurm-wlm ZSHDIR=/usr/share/zsh/vendor-completions' ;;
	deb/arm64) printf 'PLUGINDIR=/usr/lib/aarch64-linux-gnu/slurm-wlm ZSHDIR=/usr/share/zsh/vendor-completions' ;;
	rpm/*) printf 'PLUGINDIR=/usr/lib64/slurm' ;;
	esac
}

[ $# -gt 0 ] || set -- amd64 arm64
for arch; do
	for format in ${FORMATS:-deb rpm}; do
		for name in hpcenv hpcenv-slurm hpcenv-daemon; do
			[ "$name" != hpcenv-daemon ] || [ -e "$build/$arch/hpcenvd" ] || continue
			root=$work/$name.$format.$arch
			# shellcheck disable=SC2046 # words
			env $(places "$format" "$arch") DESTDIR="$root" PACKAGES="$name" PAGES="$pages" \
				"$here/../install/install.sh" "$build/$arch" | contents "$root" >"$work/contents"
			{
				describe "$name" "$format" "$arch"
				cat "$work/contents"
			} >"$work/nfpm.yaml"
			"$nfpm" package --config "$work/nfpm.yaml" --packager "$format" --target "$out" >"$work/log" 2>&1 || {
				cat "$work/log" >&2
				exit 1
			}
		done
	done
done
find "$out" -type f \( -name "hpcenv*.deb" -o -name "hpcenv*.rpm" \) | sort

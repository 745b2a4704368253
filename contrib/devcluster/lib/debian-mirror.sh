# shellcheck shell=bash
# Where a Debian root comes from: from wherever this machine's own apt takes its
# packages, with apt's proxy and passwords. HPCENV_DEBIAN_MIRROR overrides it.

# The URI of a repository that has suite $1.
mirror_find() {
	local suite=$1 uri
	if [ -n "${HPCENV_DEBIAN_MIRROR:-}" ]; then
		printf '%s' "$HPCENV_DEBIAN_MIRROR"
		return 0
	fi
	for uri in $(apt-get indextargets --format '$(REPO_URI)' | sort -u); do
		if mirror_has "$uri" "$suite"; then
			printf '%s' "${uri%/}"
			return 0
		fi
	done
	say "none of this machine's apt repositories has Debian $suite; tried:"
	apt-get indextargets --format '$(REPO_URI)' | sort -u | sed 's/^/  /' >&2
	say "next: add a Debian mirror to apt's sources, or set HPCENV_DEBIAN_MIRROR"
	return 1
}

# Whether the repository at $1 has Debian's suite $2. apt itself looks, so that
# its proxy, passwords and certificates count; -security and others have no
# suite of this plain name.
mirror_has() {
	local uri=${1%/} suite=$2 dir rc=0
	dir=$(mktemp -d)
	# apt drops its rights for downloads.
	chmod 755 "$dir"
	[ ! -d "$dir" ] || chown _apt "$dir" 2>/dev/null || true
	/usr/lib/apt/apt-helper download-file "$uri/dists/$suite/Release" "$dir/Release" >/dev/null 2>&1 &&
		grep -qx "Codename: $suite" "$dir/Release" && grep -q '^Origin: Debian$' "$dir/Release" || rc=1
	rm -rf "$dir"
	return "$rc"
}

# Prepares the environment of debootstrap, which downloads with wget: apt's
# proxies, and its passwords in the .netrc of a home directory of its own ($1).
mirror_environment() {
	local home=$1 proxy='' scheme file
	for scheme in http https; do
		eval "$(apt-config shell proxy "Acquire::$scheme::Proxy")"
		[ -z "$proxy" ] || [ "$proxy" = DIRECT ] || export "${scheme}_proxy=$proxy"
		proxy=''
	done
	export HOME=$home
	(
		umask 077
		for file in /etc/apt/auth.conf /etc/apt/auth.conf.d/*; do
			[ ! -r "$file" ] || sed 's|^machine *https\{0,1\}://|machine |' "$file"
		done >"$home/.netrc"
	)
}

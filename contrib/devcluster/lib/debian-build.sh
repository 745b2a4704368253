# shellcheck shell=bash
# Making a Debian root. The name of a cached root holds the digest of this file:
# whatever decides what is in a root stands here.

ROOT_PACKAGES=slurmd,slurm-client,munge,python3-minimal,strace,procps,iproute2
# The root from which a whole cluster runs.
ROOT_PACKAGES_CLUSTER=slurmctld,libslurm-dev,squashfs-tools,bubblewrap,squashfuse,fuse3,gcc,libc6-dev,make,file,binutils,hyperfine,ca-certificates

# root_make SUITE ARCH ROOT LOCK: makes ROOT, or nothing at all.
root_make() {
	local suite=$1 arch=$2 root=$3 lock=$4 mirror work rc=0
	mirror=$(mirror_find "$suite")
	work=$(mktemp -d "${root%/*}/making.XXXXXX")
	mkdir "$work/home"
	# In namespaces of its own: what debootstrap mounts or starts ends with it.
	# The lock stays with the caller.
	(
		mirror_environment "$work/home"
		export -f root_build root_native root_foreign root_unpack root_finish root_packages say die
		export ROOT_PACKAGES ROOT_PACKAGES_CLUSTER
		unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
			bash -euo pipefail -c 'root_build "$@"' root_build "$suite" "$arch" "$work" "$mirror" {lock}<&-
	) </dev/null >"$work/log" 2>&1 || rc=$?
	if [ "$rc" != 0 ]; then
		say "debootstrap of Debian $suite for $arch failed; its last lines ($root.log has all):"
		tail -n 15 "$work/log" >&2
		mv -f "$work/log" "$root.log"
		rm -rf --one-file-system "$work"
		return 1
	fi
	rm -rf "$work/home"
	mv "$work/root" "$root"
	rm -rf --one-file-system "$work"
}

root_packages() {
	local arch=$1
	printf '%s' "$ROOT_PACKAGES"
	[ "$arch" != amd64 ] || printf ',%s' "$ROOT_PACKAGES_CLUSTER"
}

root_build() {
	local suite=$1 arch=$2 work=$3 mirror=$4
	mkdir "$work/root"
	if [ "$arch" = "$(dpkg --print-architecture)" ]; then
		root_native "$suite" "$arch" "$work/root" "$mirror"
	else
		root_foreign "$suite" "$arch" "$work/root" "$mirror"
	fi
	root_finish "$work/root"
}

root_native() {
	local suite=$1 arch=$2 root=$3 mirror=$4
	debootstrap --variant=minbase --arch="$arch" --include="$(root_packages "$arch")" \
		"$suite" "$root" "$mirror"
}

# A root of another architecture is unpacked, not configured: running every
# package's scripts under emulation takes minutes, and a node needs little of
# what they do. That little is done here.
root_foreign() {
	local suite=$1 arch=$2 root=$3 mirror=$4
	debootstrap --foreign --variant=minbase --arch="$arch" --include="$(root_packages "$arch")" \
		"$suite" "$root" "$mirror"
	root_unpack "$root"
	cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
	cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
	cp "$root/usr/share/base-files/nsswitch.conf" "$root/etc/nsswitch.conf" 2>/dev/null ||
		cp "$root/usr/share/libc-bin/nsswitch.conf" "$root/etc/nsswitch.conf"
	ln -sf mawk "$root/usr/bin/awk"
	# What Debian's alternatives point to.
	local path
	for path in "$root"/usr/sbin/*-wlm "$root"/usr/bin/*-wlm; do
		[ ! -e "$path" ] || ln -sf "$(basename "$path")" "${path%-wlm}"
	done
	rm -rf "$root/debootstrap"
}

# Unpacks every downloaded package that debootstrap itself did not.
root_unpack() {
	local root=$1 deb
	for deb in "$root"/var/cache/apt/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -p --keep-directory-symlink -C "$root"
	done
}

root_finish() {
	local root=$1
	rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
	# In a container debootstrap makes /proc a link to itself.
	[ ! -L "$root/proc" ] || rm "$root/proc"
	mkdir -p "$root/proc"
	mkdir -p "$root/opt/hpcenv/e" "$root/etc/hpcenv" "$root/srv"
	touch "$root/etc/hosts"
}

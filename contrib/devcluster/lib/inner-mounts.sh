# shellcheck shell=bash
# Mounts inside a space. Nothing here reaches the machine outside: the space's
# mounts are private.

# What a node has of its own, in the directory $1 of the state: its software,
# its Slurm configuration, /etc/hpcenv, /run, the prefix root; and the store at
# another path than where jobs are submitted.
node_mounts() {
	local dir=$1
	mount --bind "$STATE/etc/hosts" /etc/hosts
	mount -t tmpfs -o mode=755 node-run /run
	mkdir -m 1777 /run/pmix
	mount --bind "$dir/etc-hpcenv" /etc/hpcenv
	mount --bind "$dir/prefix-root" "$PREFIX_ROOT"
	store_mount "$dir"
	mount --bind "$dir/sw" "$STATE/sw"
	mount --bind "$dir/etc" "$STATE/etc"
	if [ "$MOUNT_MODE" = host ]; then
		mount --bind "$NODE_STORE/trees/$(node_platform)" "$PREFIX_ROOT"
	fi
}

node_platform() {
	case $(uname -m) in
	x86_64) printf linux-64 ;;
	aarch64) printf linux-aarch64 ;;
	*) die "no platform for $(uname -m)" ;;
	esac
}

# The store, at NODE_STORE; its place on the submit side is covered. A command
# given with --node-store-cmd serves it instead (a file system that refuses
# root, is slow, or stops answering): it finds the real store in STORE_SOURCE,
# where only root can look, and is to mount something at STORE_TARGET.
store_mount() {
	local dir=$1
	mount -t tmpfs -o mode=755 node-srv /srv
	mkdir -p "$NODE_STORE"
	if [ -n "$NODE_STORE_CMD" ]; then
		mount --bind "$STATE/store" "$dir/private/store"
		STORE_SOURCE="$dir/private/store" STORE_TARGET="$NODE_STORE" NODE="$NAME" \
			bash -c "$NODE_STORE_CMD" </dev/null >>"$STATE/log/$NAME.store.log" 2>&1 &
		wait_for 15 "the store on $NAME (see $STATE/log/$NAME.store.log)" \
			mountpoint -q "$NODE_STORE"
	else
		mount --bind "$STATE/store" "$NODE_STORE"
	fi
	mount -t tmpfs -o mode=755,size=4k hidden-store "$STATE/store"
}

# root_enter ROOT DIR: makes ROOT the root directory of this space. ROOT itself
# is shared by all clusters and stays untouched: what is written goes to DIR.
# It is a real root of the namespace (pivot_root), not a chroot, so that
# whoever enters the namespace, job_container included, lands in it.
root_enter() {
	local root=$1 dir=$2 new=$2/root path
	mkdir -p "$new" "$dir/upper" "$dir/work"
	mount -t overlay -o "lowerdir=$root,upperdir=$dir/upper,workdir=$dir/work" root "$new"
	mount --rbind /sys "$new/sys"
	mount --rbind /dev "$new/dev"
	mount --rbind /proc "$new/proc"
	accounts_copy "$new"
	while read -r path; do
		[ -n "$path" ] || continue
		mkdir -p "$new$path"
		mount --bind "$path" "$new$path"
	done <<<"$STATE"$'\n'"$HERE"$'\n'"$SHARES"
	mkdir -p "$new/.outside" "$new$PREFIX_ROOT" "$new/etc/hpcenv"
	[ "$NAME" != a1 ] || sandbox_lend "$new"
	cd "$new"
	pivot_root . .outside
	umount --lazy /.outside
	cd /
	rmdir /.outside
}

# Gives a root this machine's accounts: files that are shared by bind mounts
# then belong to the same names everywhere.
accounts_copy() {
	local new=$1 file
	for file in passwd group; do
		awk -F: 'NR == FNR { mine[$1]; print; next } !($1 in mine)' \
			"/etc/$file" "$new/etc/$file" | replace_file "$new/etc/$file"
	done
}

# Lets this kernel run aarch64 programs, unless it does already. The
# registration lives as long as a mount of binfmt_misc does: here, as long as
# this space. The interpreter is opened now (F), so that it is found in any
# root; with P it is told the program's own argv[0].
binfmt_enable() {
	local where=/proc/sys/fs/binfmt_misc line=/usr/lib/binfmt.d/qemu-aarch64.conf
	[ -e "$where/register" ] || mount -t binfmt_misc binfmt_misc "$where"
	[ -e "$where/qemu-aarch64" ] && return 0
	[ -r "$line" ] || die "$line is missing: install qemu-user-static"
	# Somebody else may register between the look and the write.
	cat "$line" >"$where/register" || [ -e "$where/qemu-aarch64" ]
}

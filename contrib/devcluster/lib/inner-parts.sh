# shellcheck shell=bash
# What each kind of space runs. Called in the space by inner.sh.

as_account() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups "$@"
}

# The submit host: mounts of its own, and with --root a root of another release
# in which everything else of the cluster runs too.
part_login() {
	# qemu lies on this machine, not in the root: it is opened before.
	if [ -n "$ROOT_SUITE" ]; then
		[ "$AARCH64" = no ] || binfmt_enable
		root_enter "$ROOT_HOST" "$STATE/login"
	fi
	mount --bind "$STATE/login/etc-hpcenv" /etc/hpcenv
	printf 'ready\n' | replace_file "$STATE/login/ready"
	trap 'exit 0' TERM
	while :; do
		sleep 3600 &
		wait $! || true
	done
}

part_munged() {
	mount -t proc proc /proc
	serve as_account munge munged --foreground --num-threads=2 \
		--socket="$STATE/munge/munge.sock" \
		--key-file="$STATE/munge/munge.key" \
		--pid-file="$STATE/munge/munged.pid" \
		--seed-file="$STATE/munge/munged.seed" \
		--log-file="$STATE/munge/munged.log"
}

part_slurmctld() {
	mount -t proc proc /proc
	mount --bind "$STATE/etc/hosts" /etc/hosts
	export SLURM_CONF="$STATE/etc/slurm.conf"
	# -i: a state that cannot be read is no reason to stay down; -c is not given,
	# so that a restarted controller keeps its jobs.
	serve slurmctld -D -i -f "$SLURM_CONF"
}

part_node() {
	local dir=$STATE/nodes/$NAME
	# The namespaces are there; from now on any CPU will do.
	taskset --cpu-list --pid "0-$(($(nproc --all) - 1))" $$ >/dev/null
	hostname "$NAME"
	if [ "$NAME" = a1 ]; then
		binfmt_enable
		root_enter "$ROOT_AARCH64" "$dir"
	fi
	mount -t proc proc /proc
	node_mounts "$dir"
	export SLURM_CONF="$STATE/etc/slurm.conf"
	printf 'ready\n' | replace_file "$dir/ready"
	node_facts "$dir"
	serve slurmd -D -N "$NAME" -f "$SLURM_CONF"
}

# What a node does at boot: it reads what it is, here or in a recorded tree, and
# tells the daemon. It starts without, too.
node_facts() {
	local root=/
	[ ! -d "$1/facts" ] || root=$1/facts
	[ "$PLUGIN" = yes ] || return 0
	SLURMD_NODENAME=$NAME "$STATE/sw/bin/hpcenv" slurm-hook health --root "$root" --jitter 0 >>"$STATE/log/$NAME.log" 2>&1 || true
}

part_hpcenvd() {
	mount -t proc proc /proc
	export SLURM_CONF="$STATE/etc/slurm.conf" HOME="$STATE/daemon"
	# As AmbientCapabilities=CAP_CHOWN in its unit: what needed a credential is given
	# to the group of who has it.
	serve setpriv --reuid hpcenvd --regid "$(id -g hpcenvd)" --init-groups --inh-caps +chown --ambient-caps +chown \
		"$STATE/sw/bin/hpcenvd" --config "$STATE/etc/hpcenvd.yaml"
}

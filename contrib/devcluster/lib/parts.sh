# shellcheck shell=bash
# Starting, stopping and looking at the cluster as a whole.

state_lock() {
	exec {LOCK_FD}<"$STATE"
	flock -w 60 "$LOCK_FD" || die "another devcluster command works on $STATE"
}

state_load() {
	[ -r "$STATE/cluster.conf" ] || die "no cluster in $STATE: devcluster start"
	# shellcheck source=/dev/null
	. "$STATE/cluster.conf"
	PARTITIONS=() EXTRA_CONF='' FACTS=() GRES=()
}

spaces_alive() {
	local name
	space_names | while read -r name; do
		if space_alive "$name"; then printf '%s\n' "$name"; fi
	done
}

# Makes the state ready for a start: what a predecessor left of its jobs goes,
# the store and the daemon's own files stay.
state_fresh() {
	local part
	chmod 755 "$STATE"
	rm -rf --one-file-system "$STATE"/{ctld,spool,nodes,etc,sw,log,munge,spaces,login,cluster.conf}
	mkdir -p "$STATE"/{ctld,spool,nodes,etc,log,munge,spaces,login/etc-hpcenv,store,daemon} "$PREFIX_ROOT" /etc/hpcenv
	for part in slurm:ctld munge:munge hpcenvd:store hpcenvd:daemon; do
		id -u "${part%%:*}" >/dev/null 2>&1 || die "no account ${part%%:*}: run make setup"
		chown "${part%%:*}:" "$STATE/${part#*:}"
	done
	dd if=/dev/urandom of="$STATE/munge/munge.key" bs=1024 count=1 status=none
	chown munge: "$STATE/munge/munge.key"
	chmod 400 "$STATE/munge/munge.key"
}

# shellcheck disable=SC2034 # saved by conf_save, read by inner.sh
roots_find() {
	ROOT_HOST='' ROOT_AARCH64=''
	local suite=$ROOT_SUITE
	[ -z "$ROOT_SUITE" ] || ROOT_HOST=$("$HERE/debian-root.sh" "$ROOT_SUITE" amd64)
	if [ "$AARCH64" = yes ]; then
		# All nodes run one version of Slurm.
		[ -n "$suite" ] || suite=$("$HERE/host-suite.sh")
		ROOT_AARCH64=$("$HERE/debian-root.sh" "$suite" arm64)
	fi
}

cluster_start() {
	local began=$EPOCHREALTIME node
	roots_find
	# as udev leaves it, which a container often lacks
	[ ! -c /dev/fuse ] || chmod 0666 /dev/fuse
	SLURM_VERSION='' CTLD_PORT='' NODE_PORT='' DAEMON_PORT=''
	conf_save
	login_start
	SLURM_VERSION=$(slurm_version)
	CTLD_PORT=$(ports_free $((NODES + 3)))
	NODE_PORT=$((CTLD_PORT + 1))
	DAEMON_PORT=$((CTLD_PORT + NODES + 2))
	conf_save
	config_write
	software_install
	space_start munged munged
	space_start slurmctld slurmctld
	[ -z "$DAEMON_CONF" ] || cp "$DAEMON_CONF" "$STATE/etc/hpcenvd.more.yaml"
	[ "$DAEMON" = no ] || daemon_start
	login_trees
	while read -r node; do node_start "$node"; done < <(node_names)
	wait_for 90 "all nodes idle (see $STATE/log)" nodes_settled || {
		slurm sinfo -N -l >&2 || true
		return 1
	}
	nodes_ended
	nodes_told
	printf 'devcluster: Slurm %s, nodes %s, ready in %s s; state in %s\n' "$SLURM_VERSION" \
		"$(node_names | tr '\n' ' ' | sed 's/ $//')" "$(elapsed "$began")" "$STATE"
}

elapsed() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

login_start() {
	space_start login login
	wait_for 20 "the submit host's mounts (see $STATE/log/login.space)" test -e "$STATE/login/ready"
}

# Slurm's version as the submit host has it, e.g. 22.05.8.
slurm_version() {
	local version
	space_enter login
	version=$("${ENTER[@]}" slurmctld -V) || die "slurmctld does not run: run make setup"
	printf '%s' "${version##* }"
}

# Runs a Slurm command as root on the submit host.
slurm() {
	space_enter login
	"${ENTER[@]}" env SLURM_CONF="$STATE/etc/slurm.conf" "$@"
}

# Whether there is nothing to wait for any more: all nodes are idle, or one has
# ended.
nodes_settled() { ! nodes_ended || nodes_idle; }

nodes_idle() {
	[ "$(slurm sinfo -h -N -p all -t idle -o %N | sort -u | wc -l)" = "$(node_names | wc -l)" ]
}

# Waits until the daemon has published what every node told of itself.
nodes_told() {
	[ "$DAEMON" = yes ] && [ "$PLUGIN" = yes ] || return 0
	wait_for 30 "the daemon knows all nodes (see $STATE/log/hpcenvd.log)" nodes_known
}

nodes_known() {
	local told
	told=$(grep -o '"n[0-9]*":{"facts"\|"a[0-9]*":{"facts"' "$STATE/store/inventory/facts.json" | wc -l)
	[ "$told" = "$(node_names | wc -l)" ] &&
		! grep -q '"assumed":true' "$STATE/store/inventory/$(cat "$STATE/store/inventory/current").json"
}

# Fails with what it last said where a node has ended.
nodes_ended() {
	local node
	for node in $(node_names); do
		space_alive "$node" && continue
		say "node $node has ended; its last words ($STATE/log/$node.* has all):"
		tail -q -n 3 "$STATE/log/$node".* >&2
		return 1
	done
}

daemon_start() {
	[ -e "$STATE/sw/bin/hpcenvd" ] || die "hpcenvd is not built: run make build, or start with --without-daemon"
	space_alive hpcenvd && return 0
	rm -f "$STATE/daemon/hpcenvd.sock"
	daemon_config | replace_file "$STATE/etc/hpcenvd.yaml"
	space_start hpcenvd hpcenvd
	wait_for 20 "the daemon's socket (see $STATE/log/hpcenvd.log)" test -S "$STATE/daemon/hpcenvd.sock" ||
		die "hpcenvd does not serve: $(tail -n 3 "$STATE/log/hpcenvd.log" 2>/dev/null | tr '\n' ' ')"
}

daemon_config() {
	cat <<CONF
socket: $STATE/daemon/hpcenvd.sock
store: $STATE/store
prefix_root: $PREFIX_ROOT
build_dir: $STATE/daemon/build
nodes:
  listen: 127.0.0.1:$DAEMON_PORT
  munge_socket: $STATE/munge/munge.sock
CONF
	[ ! -e "$STATE/etc/hpcenvd.more.yaml" ] || cat "$STATE/etc/hpcenvd.more.yaml"
}

node_start() {
	local cpu
	mkdir -p "$STATE/spool/$1"
	if [ "$CONTAINER_TMPFS" = yes ]; then
		cpu=$(ns_cpu_find) || exit
		SPACE_ON_CPU=(taskset --cpu-list "$cpu")
	fi
	space_start "$1" node
	SPACE_ON_CPU=()
}

# Whether slurmctld gives jobs to a node: it has answered since it came back.
node_up() {
	case $(slurm sinfo -h -n "$1" -p all -o %T) in
	idle | mixed | allocated) return 0 ;;
	esac
	return 1
}

# The submit host has the prefixes of its own platform at the prefix root, as
# login nodes have from boot on. So have nodes with --mount host: the folders
# must be there when they come up.
login_trees() {
	setpriv --reuid hpcenvd --regid "$(id -g hpcenvd)" --init-groups \
		mkdir -p "$STATE/store/trees/linux-64" "$STATE/store/trees/linux-aarch64"
	space_enter login
	"${ENTER[@]}" mount --bind -o ro "$STATE/store/trees/linux-64" "$PREFIX_ROOT"
}

# Starts one part again.
part_start() {
	local name=$1
	space_alive "$name" && die "$name is running"
	case $name in
	munged) space_start munged munged ;;
	slurmctld)
		space_start slurmctld slurmctld
		wait_for 30 "slurmctld (see $STATE/log/slurmctld.log)" slurm scontrol ping
		;;
	hpcenvd) daemon_start ;;
	*)
		node_names | grep -qx -- "$name" || die_usage "no such part: $name"
		node_start "$name"
		wait_for 60 "$name in service (see $STATE/log/$name.*)" node_up "$name"
		;;
	esac
}

# Ends everything. Works from the state alone, whatever is still there.
stop_all() {
	local name
	[ -d "$STATE/spaces" ] || return 0
	for name in $(space_names | grep -vx -e login -e munged -e slurmctld); do
		if [ "$name" = hpcenvd ]; then space_stop hpcenvd 5; else space_stop "$name"; fi
	done
	for name in slurmctld munged login; do space_stop "$name"; done
}

status_print() {
	local name state rc=0 parts
	parts=$(printf 'munged\nslurmctld\n' && node_names)
	[ "$DAEMON" = no ] || parts+=$'\n'hpcenvd
	parts+=$'\n'login
	printf 'state  %s\nslurm  %s\nmount  %s\n' "$STATE" "$SLURM_VERSION" "$MOUNT_MODE"
	for name in $parts; do
		if state=$(space_pid "$name"); then state="running (init $state)"; else state=down rc=1; fi
		printf '%-10s %s\n' "$name" "$state"
	done
	if [ "$rc" = 0 ]; then slurm sinfo || rc=1; fi
	return "$rc"
}

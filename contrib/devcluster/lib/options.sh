# shellcheck shell=bash
# Command lines. Every command knows --state DIR; HPCENV_DEVCLUSTER sets its
# default.

usage() {
	cat <<'TEXT'
devcluster: a real Slurm cluster on this one machine

  devcluster start [options]     munged, slurmctld, nodes n1…, hpcenvd
    --nodes N                    x86-64 nodes (3)
    --aarch64                    and node a1, aarch64 under qemu, in a Debian root
    --root trixie                the whole cluster from a Debian 13 root (Slurm 24.11)
    --mount step|job|host        how the prefix root is attached on nodes (step)
    --container-tmpfs            JobContainerType=job_container/tmpfs; implies --mount job
    --local                      each node keeps copies of images (local=), in nodes/NODE/copies of the state
    --without-plugin             no plugstack line
    --without-daemon             do not start hpcenvd
    --node-store-cmd CMD         each node runs CMD to mount the store: from
                                 $STORE_SOURCE (root only) at $STORE_TARGET
    --extra-conf FILE            appended to slurm.conf
    --daemon-conf FILE           appended to hpcenvd.yaml
    --partition NAME:NODES       a further partition (main, all and arm are there)
    --share DIR                  a directory that nodes with their own root see too
    --cpus N                     CPUs per node (64)
    --facts NODE:DIR             NODE tells what it is from the recorded tree DIR
    --gres NODE:NAME[:TYPE]:N    NODE has N of these to give out (gpu:4); no device is behind them
  devcluster stop [--purge]      ends everything; --purge also removes the state
  devcluster status              what runs; exit 1 if something does not
  devcluster env                 exports for a shell that uses the cluster
  devcluster exec [--as USER] [--node NODE] [--cwd DIR] [--keep-env] -- COMMAND…
                                 runs COMMAND on the submit host or on a node
  devcluster run-as USER -- COMMAND…
  devcluster daemon start|stop   hpcenvd alone
  devcluster part start|stop NAME   one node, slurmctld or munged alone
  devcluster pid NAME            the process of slurmd, slurmctld, hpcenvd …
  devcluster install             takes newly built software into a running cluster
  devcluster log NAME            what a part has written

All commands take --state DIR, before or after the command's name (default $HPCENV_DEVCLUSTER or
/var/lib/hpcenv-devcluster); clusters with different states run side by side.
The software is taken from $HPCENV_BUILD, default build/ of the repository.
TEXT
}

# shellcheck disable=SC2034 # read by other files and by conf_save
options_start() {
	NODES=3 AARCH64=no ROOT_SUITE='' MOUNT_MODE='' CONTAINER_TMPFS=no
	PLUGIN=yes DAEMON=yes NODE_STORE_CMD='' CPUS=64 SHARES=$'/tmp\n/home'
	# Where the demo's channel and the roots of other architectures are.
	local cache=${HPCENV_CACHE:-/var/cache/hpcenv-dev}
	mkdir -p "$cache"
	SHARES+=$'\n'$(readlink -e "$cache")
	LOCAL=no PREFIX_ROOT=/opt/hpcenv/e NODE_STORE=/srv/hpcenv/store
	EXTRA_CONF='' DAEMON_CONF='' PARTITIONS=() FACTS=() GRES=()
	while [ $# -gt 0 ]; do
		case $1 in
		--aarch64) AARCH64=yes ;;
		--container-tmpfs) CONTAINER_TMPFS=yes ;;
		--local) LOCAL=yes ;;
		--without-plugin) PLUGIN=no ;;
		--without-daemon) DAEMON=no ;;
		--state | --nodes | --root | --mount | --node-store-cmd | --extra-conf | --daemon-conf | --partition | --share | --cpus | --facts | --gres)
			[ $# -ge 2 ] || die_usage "$1 needs a value"
			case $1 in
			--state) STATE=$2 ;;
			--nodes) NODES=$2 ;;
			--root) ROOT_SUITE=$2 ;;
			--mount) MOUNT_MODE=$2 ;;
			--node-store-cmd) NODE_STORE_CMD=$2 ;;
			--extra-conf) EXTRA_CONF=$(readlink -e "$2") || die_usage "no such file: $2" ;;
			--daemon-conf) DAEMON_CONF=$(readlink -e "$2") || die_usage "no such file: $2" ;;
			--partition) PARTITIONS+=("$2") ;;
			--share) SHARES+=$'\n'$(readlink -e "$2") || die_usage "no such directory: $2" ;;
			--cpus) CPUS=$2 ;;
			--gres) GRES+=("$2") ;;
			--facts) FACTS+=("${2%%:*}:$(readlink -e "${2#*:}")") || die_usage "no such tree: $2" ;;
			esac
			shift
			;;
		*) die_usage "start does not know $1" ;;
		esac
		shift
	done
	options_check
}

options_check() {
	local number='^[1-9][0-9]?$'
	[[ $NODES =~ $number ]] || die_usage "--nodes is 1 to 99, not $NODES"
	[[ $CPUS =~ ^[1-9][0-9]{0,3}$ ]] || die_usage "--cpus is 1 to 9999, not $CPUS"
	[ -z "$ROOT_SUITE" ] || [ "$ROOT_SUITE" = trixie ] || die_usage "--root knows trixie, not $ROOT_SUITE"
	if [ "$CONTAINER_TMPFS" = yes ]; then
		[ "${MOUNT_MODE:-job}" = job ] ||
			die_usage "--container-tmpfs goes with --mount job: a mount namespace per step breaks every step there"
		MOUNT_MODE=job
	fi
	MOUNT_MODE=${MOUNT_MODE:-step}
	case $MOUNT_MODE in
	step | host) ;;
	job) [ "$CONTAINER_TMPFS" = yes ] || die_usage "--mount job needs --container-tmpfs: the job's namespace is the container's" ;;
	*) die_usage "--mount is step, job or host, not $MOUNT_MODE" ;;
	esac
	local partition
	for partition in "${PARTITIONS[@]}"; do
		[[ $partition == ?*:?* ]] || die_usage "--partition is NAME:NODES, not $partition"
	done
	local gres='^[A-Za-z0-9]+:[A-Za-z_]+(:[A-Za-z0-9_]+)?:[0-9]+$' entry
	for entry in "${GRES[@]}"; do
		[[ $entry =~ $gres ]] || die_usage "--gres is NODE:NAME:COUNT or NODE:NAME:TYPE:COUNT, not $entry"
	done
}

# The options of every other command: --state, and --purge for stop.
options_state() {
	PURGE=no
	while [ $# -gt 0 ]; do
		case $1 in
		--state)
			[ $# -ge 2 ] || die_usage "$1 needs a value"
			STATE=$2
			shift
			;;
		--purge) PURGE=yes ;;
		*) die_usage "unexpected: $1" ;;
		esac
		shift
	done
	state_check
}

# shellcheck disable=SC2034 # read by exec_in
options_exec() {
	AS='' NODE=login CWD='' KEEP_ENV=no COMMAND=()
	while [ $# -gt 0 ]; do
		case $1 in
		--keep-env) KEEP_ENV=yes ;;
		--as | --node | --cwd | --state)
			[ $# -ge 2 ] || die_usage "$1 needs a value"
			case $1 in
			--as) AS=$2 ;;
			--node) NODE=$2 ;;
			--cwd) CWD=$2 ;;
			--state) STATE=$2 ;;
			esac
			shift
			;;
		--)
			shift
			COMMAND=("$@")
			break
			;;
		-*) die_usage "exec does not know $1" ;;
		*)
			COMMAND=("$@")
			break
			;;
		esac
		shift
	done
	[ ${#COMMAND[@]} -gt 0 ] || die_usage "exec needs a command"
	state_check
}

# Unix sockets of slurmstepd lie below the state and have 107 bytes for their
# path; Slurm and SPANK split their configuration at spaces.
state_check() {
	[[ $STATE == /* ]] || die_usage "--state is an absolute path, not $STATE"
	[[ $STATE =~ ^[A-Za-z0-9/._-]+$ ]] || die_usage "--state has characters that Slurm's configuration cannot carry: $STATE"
	[ ${#STATE} -le 60 ] || die_usage "--state has more than 60 characters, too long for unix sockets below it: $STATE"
	case $STATE in /srv/* | /run/* | /etc/* | /proc/* | /dev/* | /sys/*)
		die_usage "--state cannot lie in $STATE: nodes have their own there" ;;
	esac
	if [ -e "$STATE" ] && [ "$(stat -c %u "$STATE")" != 0 ]; then
		die "$STATE is not root's: another directory is needed"
	fi
}

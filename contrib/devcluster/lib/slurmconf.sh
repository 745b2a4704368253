# shellcheck shell=bash
# The cluster's configuration files.

# The names of all nodes, one a line.
node_names() {
	local i
	for ((i = 1; i <= NODES; i++)); do printf 'n%d\n' "$i"; done
	[ "$AARCH64" = no ] || printf 'a1\n'
}

# version_at_least 24.05: whether the cluster's Slurm is that new.
version_at_least() {
	[ "$(printf '%s\n%s\n' "$1" "$SLURM_VERSION" | sort -V | head -n 1)" = "$1" ]
}

slurm_conf() {
	local container='' flags=Alloc
	if [ "$CONTAINER_TMPFS" = yes ]; then
		container='JobContainerType=job_container/tmpfs'
		flags=Alloc,Contain
	fi
	cat <<CONF
ClusterName=hpcenv-dev
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$CTLD_PORT
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$STATE/munge/munge.sock
StateSaveLocation=$STATE/ctld
SlurmctldPidFile=$STATE/ctld/slurmctld.pid
SlurmdPidFile=$STATE/spool/%n.pid
SlurmdSpoolDir=$STATE/spool/%n
SlurmdLogFile=$STATE/log/%n.log
SlurmctldDebug=info
SlurmdDebug=info
PlugStackConfig=$STATE/etc/plugstack.conf
# No systemd, no cgroup tree of our own.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
$container
# More CPUs than there are: many tasks on one machine.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
PrologFlags=$flags
Prolog=$STATE/sw/libexec/prolog
Epilog=$STATE/sw/libexec/epilog
PrologEpilogTimeout=60
# As quick as it goes: tests wait for every job.
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1,bf_resolution=60,default_queue_depth=1000,partition_job_depth=0,bf_max_job_test=1000
EpilogMsgTime=0
KillWait=2
CompleteWait=0
InactiveLimit=0
MinJobAge=3600
MaxArraySize=10001
MaxJobCount=20000
MessageTimeout=60
SlurmdTimeout=120
SlurmctldTimeout=120
TCPTimeout=5
UnkillableStepTimeout=60
CONF
	slurm_conf_nodes
	slurm_conf_partitions
	if [ -n "$EXTRA_CONF" ]; then
		printf '# from %s\n' "$EXTRA_CONF"
		cat "$EXTRA_CONF"
	fi
}

slurm_conf_nodes() {
	local node i=0 feature names gres
	names=$(printf '%s\n' "${GRES[@]}" | cut -s -d : -f 2 | sort -u | paste -sd ,)
	[ -z "$names" ] || printf 'GresTypes=%s\n' "$names"
	while read -r node; do
		feature=x86_64
		[ "$node" != a1 ] || feature=aarch64
		gres=$(gres_of "$node" | paste -sd ,)
		printf 'NodeName=%s NodeHostname=%s NodeAddr=%s Port=%d CPUs=%d RealMemory=%d Feature=%s%s State=UNKNOWN\n' \
			"$node" "$node" "$(node_address "$node")" "$((NODE_PORT + i))" "$CPUS" 65536 "$feature" "${gres:+ Gres=$gres}"
		i=$((i + 1))
	done < <(node_names)
}

# gres_of NODE: what it was given with --gres, one a line.
gres_of() {
	local entry
	for entry in "${GRES[@]}"; do
		[ "${entry%%:*}" != "$1" ] || printf '%s\n' "${entry#*:}"
	done
}

# gres.conf. Slurm counts gres/gpu by its device files; /dev/null stands for them.
gres_conf() {
	local node gres type i file
	while read -r node; do
		while read -r gres; do
			type=${gres#*:}
			type=${type%"${gres##*:}"}
			for ((i = 0; i < ${gres##*:}; i++)); do
				file=$STATE/nodes/$node/gres/${gres//:/-}-$i
				mkdir -p "${file%/*}"
				ln -sf /dev/null "$file"
				printf 'NodeName=%s Name=%s%s File=%s\n' "$node" "${gres%%:*}" "${type:+ Type=${type%:}}" "$file"
			done
		done < <(gres_of "$node")
	done < <(node_names)
}

# A node's own address: the daemon tells nodes apart by it.
node_address() {
	case $1 in
	a*) printf '127.0.2.%d' "${1#a}" ;;
	*) printf '127.0.1.%d' "${1#n}" ;;
	esac
}

# main: what a job gets that says nothing; all: also over architectures.
slurm_conf_partitions() {
	local partition
	printf 'PartitionName=main Nodes=n[1-%d] Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8\n' "$NODES"
	printf 'PartitionName=all Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=FORCE:8\n'
	[ "$AARCH64" = no ] ||
		printf 'PartitionName=arm Nodes=a1 MaxTime=INFINITE State=UP OverSubscribe=FORCE:8\n'
	for partition in "${PARTITIONS[@]}"; do
		printf 'PartitionName=%s Nodes=%s MaxTime=INFINITE State=UP OverSubscribe=FORCE:8\n' \
			"${partition%%:*}" "${partition#*:}"
	done
}

# From 24.05 on the cgroup plug-in can be switched off; before, the plug-in that
# touches nothing at its start stands in.
cgroup_conf() {
	if version_at_least 24.05; then
		printf 'CgroupPlugin=disabled\n'
	else
		printf 'CgroupPlugin=cgroup/v1\n'
	fi
}

# plugstack_conf STORE OFF [COPIES]: the plug-in's line, with the store as this host
# has it, the file that switches the plug-in off, and a node's directory for copies of
# images; the disk of the cluster may well be memory.
plugstack_conf() {
	local store=$1 off=$2 local=''
	[ "$PLUGIN" = yes ] || return 0
	[ "$LOCAL" = no ] || local=${3:+ local=$3 local_memory=yes}
	printf 'required %s/sw/lib/hpcenv_spank.so helper=%s/sw/bin/hpcenv store=%s owner=%s prefix_root=%s socket=%s run_dir=%s off=%s mount=%s%s\n' \
		"$STATE" "$STATE" "$store" "$(id -u hpcenvd)" "$PREFIX_ROOT" \
		"$STATE/daemon/hpcenvd.sock" /run/hpcenv-node "$off" "$MOUNT_MODE" "$local"
}

# hpcenv_conf STORE: /etc/hpcenv/hpcenv.conf.
hpcenv_conf() {
	printf 'socket = %s\nstore = %s\nprefix_root = %s\n' \
		"$STATE/daemon/hpcenvd.sock" "$1" "$PREFIX_ROOT"
	printf 'daemon = 127.0.0.1:%d\nowner = hpcenvd\nmunge_socket = %s\n' "$DAEMON_PORT" "$STATE/munge/munge.sock"
}

# PMIx keeps sockets of a step below a directory of the node; /tmp is one for all nodes
# here. Releases of Slurm before 22.05 do not read the file.
mpi_conf() {
	printf 'PMIxCliTmpDirBase=/run/pmix\n'
}

hosts_file() {
	local node
	printf '127.0.0.1 localhost\n'
	while read -r node; do printf '%s %s\n' "$(node_address "$node")" "$node"; done < <(node_names)
	grep -v '^127\.0\.0\.1[[:space:]]*localhost[[:space:]]*$' /etc/hosts || true
}

# Writes the configuration of the submit host (etc) and of each node
# (nodes/NAME/etc, which the node sees in the place of etc).
config_write() {
	local node dir
	mkdir -p "$STATE/etc"
	hosts_file | replace_file "$STATE/etc/hosts"
	slurm_conf | replace_file "$STATE/etc/slurm.conf"
	cgroup_conf | replace_file "$STATE/etc/cgroup.conf"
	gres_conf | replace_file "$STATE/etc/gres.conf"
	mpi_conf | replace_file "$STATE/etc/mpi.conf"
	hpcenv_conf "$STATE/store" | replace_file "$STATE/etc/hpcenv.conf"
	cp "$STATE/etc/hpcenv.conf" "$STATE/login/etc-hpcenv/"
	plugstack_conf "$STATE/store" "$STATE/etc/off" | replace_file "$STATE/etc/plugstack.conf"
	while read -r node; do
		dir=$STATE/nodes/$node
		mkdir -p "$dir/etc" "$dir/etc-hpcenv" "$dir/prefix-root" "$dir/private/store"
		chmod 700 "$dir/private"
		cp "$STATE/etc/hosts" "$STATE/etc/slurm.conf" "$STATE/etc/cgroup.conf" "$STATE/etc/gres.conf" "$STATE/etc/mpi.conf" "$dir/etc/"
		hpcenv_conf "$NODE_STORE" | tee "$dir/etc/hpcenv.conf" | replace_file "$dir/etc-hpcenv/hpcenv.conf"
		plugstack_conf "$NODE_STORE" /etc/hpcenv/off "$dir/copies" | replace_file "$dir/etc/plugstack.conf"
		facts_copy "$node" "$dir"
		if [ "$CONTAINER_TMPFS" = yes ]; then
			mkdir -p "$dir/containers"
			printf 'AutoBasePath=true\nBasePath=%s/containers\n' "$dir" |
				tee "$dir/etc/job_container.conf" >"$STATE/etc/job_container.conf"
		fi
	done < <(node_names)
}

# facts_copy NODE DIR: the recorded tree that NODE is to be read from, if it was given
# one, where the node sees it: DIR/facts.
facts_copy() {
	local entry
	for entry in "${FACTS[@]}"; do
		[ "${entry%%:*}" = "$1" ] || continue
		cp -a --no-preserve=ownership "${entry#*:}" "$2/facts"
	done
}

# shellcheck shell=bash
# Words shared by all parts of the development cluster.

say() { printf 'devcluster: %s\n' "$*" >&2; }

# Ends with a message that says what and what to do next.
die() {
	say "$*"
	exit 1
}

# Usage errors exit 2, as everywhere in hpcenv.
die_usage() {
	say "$*"
	say "see: devcluster help"
	exit 2
}

# The start time of process $1 in clock ticks since boot. With the number it
# names a process for good; a number alone may be somebody else's by now.
process_start() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	stat=${stat##*) }
	local fields
	read -r -a fields <<<"$stat"
	printf '%s' "${fields[19]}"
}

# wait_for SECONDS WHAT COMMAND…: runs COMMAND every 50 ms until it succeeds.
wait_for() {
	local limit=$1 what=$2 end
	shift 2
	end=$((SECONDS + limit))
	while ! "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -gt "$end" ]; then
			say "not within $limit s: $what"
			return 1
		fi
		sleep 0.05
	done
}

# Replaces file $1 by standard input in one step: whoever reads it meanwhile
# sees the old or the new one.
replace_file() {
	local path=$1 mode=${2:-644}
	cat >"$path.new"
	chmod "$mode" "$path.new"
	mv -f "$path.new" "$path"
}

conf_save() {
	local name
	for name in "${CONF_NAMES[@]}"; do
		printf '%s=%q\n' "$name" "${!name}"
	done | replace_file "$STATE/cluster.conf"
}

# What is written into the state at start and read by every other command.
# shellcheck disable=SC2034
CONF_NAMES=(NODES AARCH64 ROOT_SUITE MOUNT_MODE CONTAINER_TMPFS PLUGIN DAEMON
	NODE_STORE_CMD NODE_STORE PREFIX_ROOT CTLD_PORT NODE_PORT SLURM_VERSION CPUS
	SHARES ROOT_HOST ROOT_AARCH64 DAEMON_PORT)

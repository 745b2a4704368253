# shellcheck shell=bash
# Spaces: every part of the cluster runs under an init of its own in a private
# mount and process namespace. Whatever a part starts, mounts or attaches there
# (job steps, FUSE servers, loop devices) is gone with that init, also after a
# crash: the kernel cleans up, not this script.
#
# A space is recorded in STATE/spaces/NAME as "PID START", written by its init
# before it does anything else.

# A command that has the namespaces of a space made on a certain CPU; empty for
# any (see ns_cpu_find).
SPACE_ON_CPU=()

# The CPUs that this process may use, one a line.
cpus_allowed() {
	local range
	for range in $(taskset --cpu-list --pid $$ | sed 's/.*: //; s/,/ /g'); do
		seq "${range%-*}" "${range#*-}"
	done
}

# A CPU on which a node's namespace must be made so that job_container/tmpfs
# works in it (see ns-probe.sh); any on most kernels. Each CPU may fail once when one
# begins a new batch of ids between two looks, so they are asked again.
ns_cpu_find() {
	local cpu cpus
	mapfile -t cpus < <(cpus_allowed)
	for _ in 1 2 3 4 5; do
		for cpu in "${cpus[@]}"; do
			if taskset --cpu-list "$cpu" unshare --mount --propagation private \
				"$HERE/ns-probe.sh" "${cpus[@]}"; then
				printf '%s' "$cpu"
				return 0
			fi
		done
	done
	die "this kernel lets no namespace hold a younger one: --container-tmpfs does not work here"
}

# space_start NAME KIND [ARGUMENT…]: starts inner.sh KIND in a new space.
space_start() {
	local name=$1 kind=$2 enter=()
	shift 2
	rm -f "$STATE/spaces/$name"
	if [ "$kind" != login ] && [ -n "$ROOT_SUITE" ]; then
		enter=(nsenter "--target=$(space_pid login)" --mount --)
	fi
	local share=(--mount --propagation private)
	# The login space holds mounts only: the inits of the others report their
	# numbers as this machine sees them, through its /proc.
	[ "$kind" = login ] || share+=(--uts --pid --fork)
	env -i PATH="$PATH" LANG=C.UTF-8 STATE="$STATE" \
		setsid "${enter[@]}" "${SPACE_ON_CPU[@]}" unshare "${share[@]}" \
		"$HERE/inner.sh" "$name" "$kind" "$@" \
		</dev/null >>"$STATE/log/$name.space" 2>&1 {LOCK_FD}<&- &
	# Not a job of this shell: it says nothing when the space is killed.
	disown
	wait_for 20 "the namespaces of $name (see $STATE/log/$name.space)" \
		test -e "$STATE/spaces/$name"
}

# The number of the init of space $1; fails where it is not running.
space_pid() {
	local pid start
	read -r pid start 2>/dev/null <"$STATE/spaces/$1" || return 1
	[ "$(process_start "$pid")" = "$start" ] || return 1
	printf '%s' "$pid"
}

space_alive() { space_pid "$1" >/dev/null; }

# space_stop NAME [SECONDS]: asks the space to end, and ends it after SECONDS
# (0 = at once). The kill of an init takes everything in its space along.
space_stop() {
	local name=$1 grace=${2:-0} pid
	if pid=$(space_pid "$name"); then
		if [ "$grace" -gt 0 ]; then
			kill -TERM "$pid" 2>/dev/null || true
			wait_for "$grace" "the end of $name: it is killed" space_gone "$name" || true
		fi
		kill -KILL "$pid" 2>/dev/null || true
		wait_for 20 "the end of $name" space_gone "$name" ||
			die "process $pid ($name) does not end: a file system that it uses may be stuck"
	fi
	rm -f "$STATE/spaces/$name"
}

space_gone() { ! space_alive "$1"; }

# Names of the recorded spaces, one a line.
space_names() {
	local file
	for file in "$STATE"/spaces/*; do
		[ -e "$file" ] && printf '%s\n' "${file##*/}"
	done
	return 0
}

# space_enter NAME: fills the array ENTER with the command that enters a space.
space_enter() {
	local name=$1 pid
	ENTER=()
	if [ "$name" = login ]; then
		pid=$(space_pid login) || die "the cluster is not running"
		ENTER=(nsenter "--target=$pid" --mount --)
		return 0
	fi
	pid=$(space_pid "$name") || die "no such running part: $name (see devcluster status)"
	ENTER=(nsenter "--target=$pid" --mount --uts --pid --)
}

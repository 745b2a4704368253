# shellcheck shell=bash
# Running commands as a user of the cluster would.

# The variables of a shell that uses the cluster, as assignments. Where daemon
# and store are, /etc/hpcenv tells, here and on nodes: a variable would get into
# jobs, and the store lies elsewhere on a node.
login_environment() {
	printf 'SLURM_CONF=%s\n' "$STATE/etc/slurm.conf"
	printf 'HPCENV_DEVCLUSTER=%s\n' "$STATE"
}

node_environment() {
	printf 'SLURM_CONF=%s\n' "$STATE/etc/slurm.conf"
	printf 'SLURMD_NODENAME=%s\n' "$NODE"
}

# exec_in COMMAND…: becomes COMMAND on the submit host (or --node) as root (or
# --as), with the environment of a fresh login unless --keep-env.
exec_in() {
	local user=${AS:-root} home vars=() become=()
	home=$(getent passwd "$user" | cut -d: -f6)
	[ -n "$home" ] || die "no such account: $user"
	space_enter "$NODE"
	if [ "$NODE" = login ]; then
		mapfile -t vars < <(login_environment)
	else
		mapfile -t vars < <(node_environment)
	fi
	vars+=("HOME=$home" "USER=$user" "LOGNAME=$user" SHELL=/bin/bash
		"PATH=$STATE/sw/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin")
	[ "$KEEP_ENV" = yes ] || vars=(-i LANG=C.UTF-8 "TERM=${TERM:-dumb}" "${vars[@]}")
	[ "$user" = root ] ||
		become=(setpriv "--reuid=$(id -u "$user")" "--regid=$(id -g "$user")" --init-groups --)
	# The directory is entered inside, as the user.
	exec "${ENTER[@]}" "${become[@]}" env "${vars[@]}" \
		bash -c 'cd -- "$1" || exit 1; unset OLDPWD; shift; exec "$@"' devcluster "${CWD:-$home}" "$@"
}

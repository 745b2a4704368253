# shellcheck shell=bash
# The three accounts of the development cluster: the daemon, a scientist, and a
# second scientist who must not get at what is the first one's. None is root.
# Roots of other architectures and releases get the same numbers from this
# machine's /etc/passwd when a cluster starts.

HPCENV_DAEMON_USER=hpcenvd
HPCENV_USERS=(hpcenv-user1 hpcenv-user2)

# Accounts that are not there, one a line.
accounts_missing() {
	local user
	for user in "$HPCENV_DAEMON_USER" "${HPCENV_USERS[@]}"; do
		getent passwd "$user" >/dev/null || printf '%s\n' "$user"
	done
}

accounts_make() {
	local user
	getent passwd "$HPCENV_DAEMON_USER" >/dev/null ||
		useradd --system --user-group --no-create-home --home-dir /nonexistent \
			--shell /usr/sbin/nologin --comment "hpcenv daemon" "$HPCENV_DAEMON_USER"
	for user in "${HPCENV_USERS[@]}"; do
		getent passwd "$user" >/dev/null ||
			useradd --user-group --create-home --shell /bin/bash \
				--comment "hpcenv development cluster" "$user"
	done
}

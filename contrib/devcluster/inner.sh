#!/bin/bash
# inner.sh NAME KIND: the init of one space of the development cluster. Runs in
# fresh namespaces (see lib/space.sh); STATE is in the environment.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
cd /
NAME=$1
KIND=$2

# shellcheck source=contrib/devcluster/lib/common.sh
. "$HERE/lib/common.sh"
# shellcheck source=contrib/devcluster/lib/inner-mounts.sh
. "$HERE/lib/inner-mounts.sh"
# shellcheck source=contrib/devcluster/lib/inner-sandbox.sh
. "$HERE/lib/inner-sandbox.sh"
# shellcheck source=contrib/devcluster/lib/inner-parts.sh
. "$HERE/lib/inner-parts.sh"

# Tells the outside who this is. /proc is still the outer one here, so this is
# the number as the outside sees it; the file is opened by this very shell.
register() {
	local stat fields
	read -r stat </proc/self/stat
	read -r -a fields <<<"${stat##*) }"
	printf '%s %s\n' "${stat%% *}" "${fields[19]}" | replace_file "$STATE/spaces/$NAME"
}

# Runs a command as the only service of this space and ends with it. A TERM is
# passed on. Being process 1, this shell also reaps what the service orphans.
serve() {
	local rc=0
	"$@" </dev/null >>"$STATE/log/$NAME.log" 2>&1 &
	SERVICE=$!
	trap 'kill -TERM "$SERVICE" 2>/dev/null || true' TERM
	while :; do
		rc=0
		wait "$SERVICE" || rc=$?
		kill -0 "$SERVICE" 2>/dev/null || break
	done
	exit "$rc"
}

register
# shellcheck source=/dev/null
. "$STATE/cluster.conf"
"part_$KIND"

#!/bin/bash
# launch.sh: what hpcenv adds to sbatch, also at 50 submissions a second, and to a step
# (slurm/launchbench), on a development cluster of its own: with images, a cluster's
# default, and with trees.
# Exits 1 if a figure is short.
#
# The environment is prepared and has no activate.d scripts: users' scripts are
# not measured, the helper's exec is.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../.." && pwd)
cluster=$repo/contrib/devcluster/devcluster
bench=${HPCENV_BUILD:-$repo/build}/amd64/launchbench
user=hpcenv-user1
export HPCENV_DEVCLUSTER=/var/lib/hpcenv-bench

# Runs a command as the user in the project, on the submit host.
as_user() { "$cluster" exec --as "$user" --cwd "$project" -- "$@"; }

cleanup() {
	"$cluster" stop --purge
	rm -rf "$project" "$conf"
}

conf=$(mktemp)
project=$(mktemp -d "/home/$user/bench.XXXXXX")
trap cleanup EXIT
"$repo/contrib/demo/channel.sh" project "$project" >/dev/null
cp "$bench" "$project/launchbench"
chown -R "$user:" "$project"

rc=0
for delivery in image tree; do
	printf '\n%s:\n' "$delivery"
	echo "delivery: $delivery" >"$conf"
	"$cluster" start --daemon-conf "$conf" >&2
	as_user hpcenv prepare -e cpu >&2
	as_user ./launchbench submit -series "launch.$delivery" -lock . -name cpu || rc=1
	as_user ./launchbench burst -series "launch.$delivery" -lock . -name cpu -plugstack "$HPCENV_DEVCLUSTER/etc/plugstack.conf" || rc=1
	for nodes in 1 3; do
		as_user salloc -Q -N "$nodes" --env-lock=. --env-name=cpu ./launchbench step -series "launch.$delivery" -nodes "$nodes" || rc=1
	done
	as_user salloc -Q -N 1 --env-lock=. --env-name=cpu ./launchbench check -series "launch.$delivery" || rc=1
	"$cluster" stop --purge >&2
done
exit "$rc"

#!/bin/bash
# launch.sh: what hpcenv adds to sbatch and to a step, on a development cluster
# of its own. Prints a table and one line per figure; exits 1 if one is short.
#
# Submissions with and without the option alternate, as do steps of two jobs,
# one with the option and one without. Medians are compared. The environment is
# prepared and has no activate.d scripts: users' scripts are not measured, the
# helper's exec is.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
cluster=$repo/contrib/devcluster/devcluster
user=hpcenv-user1
rounds=${HPCENV_BENCH_ROUNDS:-41}
environment=cpu
export HPCENV_DEVCLUSTER=/var/lib/hpcenv-bench

say() { printf 'bench-launch: %s\n' "$*" >&2; }

# Runs a command as the user in the project, on the submit host.
as_user() { "$cluster" exec --as "$user" --cwd "$project" -- "$@"; }

cleanup() {
	"$cluster" stop --purge
	rm -rf "$project"
}

main() {
	project=$(mktemp -d "/home/$user/bench.XXXXXX")
	trap cleanup EXIT
	"$repo/contrib/demo/channel.sh" project "$project" >/dev/null
	cp "$here/launch-submit.sh" "$here/launch-steps.sh" "$project/"
	chown -R "$user:" "$project"
	"$cluster" start >&2
	as_user hpcenv prepare -e "$environment" >&2

	say "$rounds submissions of each kind"
	as_user bash launch-submit.sh "$rounds" "$environment" >"$project/submit.tsv"
	say "$rounds steps of each kind, on one node and on three"
	steps 1
	steps 3
	table
	figures
}

# steps NODES: times steps of two jobs that run side by side.
steps() {
	local nodes=$1 kind job
	for kind in with without; do
		as_user mkfifo "ask-$kind" "answer-$kind"
	done
	as_user sbatch --parsable -N "$nodes" -o "with.log" --env-lock=. --env-name="$environment" \
		launch-steps.sh with "$nodes" >"$project/jobs"
	as_user sbatch --parsable -N "$nodes" -o "without.log" launch-steps.sh without "$nodes" >>"$project/jobs"
	if ! timeout 300 "$cluster" exec --as "$user" --cwd "$project" -- \
		bash launch-steps.sh drive "$rounds" >"$project/steps-$nodes.tsv"; then
		say "the steps did not run:"
		cat "$project"/with*.log >&2
		return 1
	fi
	while read -r job; do as_user scancel "$job"; done <"$project/jobs"
	rm -f "$project"/ask-* "$project"/answer-*
}

# median FILE KIND: of the second column, in ms.
median() {
	awk -v kind="$2" '$1 == kind { print $2 }' "$1" | sort -n |
		awk '{ v[NR] = $1 } END { if (!NR) exit 1; print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

extra() { awk -v a="$(median "$1" with)" -v b="$(median "$1" without)" 'BEGIN { printf "%.1f", a - b }'; }

table() {
	local file
	printf '%-22s %10s %10s %10s\n' 'median, ms' without with more
	for file in submit:sbatch steps-1:'step, 1 node' steps-3:'step, 3 nodes'; do
		printf '%-22s %10.1f %10.1f %10.1f\n' "${file#*:}" "$(median "$project/${file%%:*}.tsv" without)" \
			"$(median "$project/${file%%:*}.tsv" with)" "$(extra "$project/${file%%:*}.tsv")"
	done
}

figures() {
	local rc=0
	figure launch.sbatch.more "$(extra "$project/submit.tsv")" 20 || rc=1
	figure launch.step.more "$(extra "$project/steps-1.tsv")" 30 || rc=1
	return "$rc"
}

# figure NAME MS TARGET: fails if the figure is above its target.
figure() {
	local verdict=ok
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a <= b) }' || verdict=short
	printf 'figure %s %s ms target <= %s %s\n' "$1" "$2" "$3" "$verdict"
	[ "$verdict" = ok ]
}

main

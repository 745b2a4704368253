#!/bin/bash
# demo.sh: the main job, end to end, on a Slurm cluster on this machine.
#
# A real CPython and NumPy, packed as conda packages from Debian's, and the
# pixi.lock that names them; a cluster of three x86-64 nodes (and an aarch64 one,
# if its root is made: `make roots` does that); hpcenv prepare; then a job whose
# script says nothing but `#SBATCH --env-lock=.`.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../.." && pwd)
cluster=$repo/contrib/devcluster/devcluster
user=hpcenv-user1
export HPCENV_DEVCLUSTER=/var/lib/hpcenv-demo

say() { printf '\n== %s\n' "$*"; }

# What a person would type, shown as such, run as an ordinary account.
as_user() {
	printf '%s$ %s\n' "$user" "$*"
	"$cluster" exec --as "$user" --cwd "$project" -- bash -c "$*"
}

cleanup() {
	[ -z "${server:-}" ] || kill "$server" 2>/dev/null || echo "the channel's server had ended already" >&2
	"$cluster" stop --purge
	rm -rf "$project" "$conf"
}

conf=$(mktemp)
project=$(mktemp -d "/home/$user/demo.XXXXXX")
trap cleanup EXIT

say "the channel: CPython and NumPy as conda packages, for two architectures"
urlfile=$(mktemp -u)
"$repo/contrib/demo/channel.sh" path
"$repo/contrib/demo/channel.sh" serve --url-file "$urlfile" >/dev/null &
server=$!
for _ in $(seq 100); do
	[ -s "$urlfile" ] && break
	sleep 0.1
done
url=$(cat "$urlfile")
rm -f "$urlfile"
"$repo/contrib/demo/channel.sh" project "$project" "$url"
chown -R "$user:" "$project"
# Private addresses must be named before the daemon fetches from them.
printf 'fetch:\n  allow: ["%s"]\n' "${url#http://}" >"$conf"

say "a Slurm cluster, with the SPANK plugin and hpcenvd"
options=(--daemon-conf "$conf")
nodes=3
if "$repo/contrib/devcluster/debian-root.sh" --check "$("$repo/contrib/devcluster/host-suite.sh")" arm64; then
	options+=(--aarch64)
	nodes=4
else
	echo "no aarch64 node: its root is not made (make roots)"
fi
"$cluster" start "${options[@]}"
"$cluster" exec -- sinfo -N -p all -o '%N %T %f'

say "prepare, before the deadline"
as_user hpcenv prepare
as_user hpcenv list

say "the job: all nodes, one line of hpcenv"
as_user cat job.sh
as_user "sbatch -W -p all -N $nodes -n $nodes -o out job.sh && cat out"

say "what was asked for, checked: every node ran the lock's own interpreter"
"$cluster" exec --as "$user" --cwd "$project" -- python3 - "$nodes" <<'PY'
import json, sys
lines = [json.loads(l) for l in open("out") if l.startswith("{")]
want = int(sys.argv[1])
hosts = sorted(p["host"] for p in lines)
prefixes = {p["sys.prefix"] for p in lines}
assert len(lines) == want and len(set(hosts)) == want, hosts
assert len(prefixes) == 1 and prefixes.pop().startswith("/opt/hpcenv/e/"), prefixes
assert all(p["numpy.__file__"].startswith(p["sys.prefix"] + "/") for p in lines)
by = {p["machine"]: set() for p in lines}
for p in lines:
    by[p["machine"]].add(p["interpreter.sha256"])
assert all(len(s) == 1 for s in by.values()), by
for p in sorted(lines, key=lambda p: p["host"]):
    print(f'{p["host"]:4} {p["machine"]:8} {p["sys.executable"]}  numpy {p["numpy.__version__"]}')
print("one path,", len(by), "architecture(s),", want, "nodes")
PY

say "what cannot work is refused at once, and nothing is queued"
as_user "sbatch --env-lock=. --env-name=nosuch --wrap true; echo \"exit code \$?\"; squeue -h | wc -l"

#!/bin/bash
# ns-probe.sh CPU…: in a mount namespace of its own, tells whether namespaces
# that are made later, on any of the CPUs, can be bind-mounted in this one.
#
# job_container/tmpfs does that for every job. The kernel allows it for younger
# namespaces only, by their ids; some kernels hand out ids per CPU in batches, so
# that a later namespace can have a smaller id.
set -euo pipefail

target=$(mktemp)
holder=''
trap 'kill $holder 2>/dev/null || true; rm -f "$target"' EXIT
own=$(readlink "/proc/$$/ns/mnt")

for cpu in "$@"; do
	taskset --cpu-list "$cpu" unshare --mount sleep 10 &
	holder=$!
	for ((try = 0; try < 200; try++)); do
		[ "$(readlink "/proc/$holder/ns/mnt")" = "$own" ] || break
		sleep 0.005
	done
	mount --bind "/proc/$holder/ns/mnt" "$target" 2>/dev/null || exit 1
	umount "$target"
	kill "$holder"
	wait "$holder" 2>/dev/null || true
done

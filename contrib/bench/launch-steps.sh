#!/bin/bash
# launch-steps.sh with|without NODES: the script of a job that runs a step and
# tells how long it took whenever it is asked to.
# launch-steps.sh drive ROUNDS: asks two such jobs in turn, and prints lines
# "with|without MILLISECONDS".
set -euo pipefail

serve() {
	local kind=$1 nodes=$2 began
	exec 3<>"ask-$kind" 4<>"answer-$kind"
	while read -r _ <&3; do
		began=$EPOCHREALTIME
		srun -N "$nodes" -n "$nodes" true || { echo failed >&4; exit 1; }
		awk -v k="$kind" -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%s %.3f\n", k, (b - a) * 1000 }' >&4
	done
}

drive() {
	local rounds=$1 kind answer i
	exec 3<>ask-with 4<>answer-with 5<>ask-without 6<>answer-without
	for ((i = -3; i < rounds; i++)); do
		for kind in with without; do
			if [ "$kind" = with ]; then
				echo >&3
				read -r answer <&4
			else
				echo >&5
				read -r answer <&6
			fi
			[ "$answer" != failed ]
			if [ "$i" -ge 0 ]; then printf '%s\n' "$answer"; fi
		done
	done
}

case $1 in
drive) drive "$2" ;;
*) serve "$1" "$2" ;;
esac

#!/bin/bash
# launch-submit.sh ROUNDS ENVIRONMENT: times sbatch with and without the option,
# alternating. The jobs are held, so that nothing else runs meanwhile. Prints
# lines "with|without MILLISECONDS".
set -euo pipefail

once() {
	local kind=$1 began
	shift
	began=$EPOCHREALTIME
	sbatch --hold --output=/dev/null "$@" --wrap=true >/dev/null
	awk -v k="$kind" -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%s %.3f\n", k, (b - a) * 1000 }'
}

for ((i = -3; i < $1; i++)); do
	with=$(once with --env-lock=. --env-name="$2")
	without=$(once without)
	# The first ones warm the caches.
	if [ "$i" -ge 0 ]; then printf '%s\n%s\n' "$with" "$without"; fi
done
scancel --user="$(id -un)" --state=PENDING

#!/bin/bash
# deliveries.sh RESULTS: the scenarios of a job in its locked environment, what goes right
# and what goes wrong, with images mounted from the store, with copies of them on the
# nodes' own disks, and both on a store that refuses root; all of it with mounts of the
# step and with job_container/tmpfs. One file of results each in the folder RESULTS.
# Every run is made even if one fails.
#
# ROWS chooses: words of delivery-mount[-squash], e.g. ROWS='image-step local-job-squash'.
# STORIES is what `go test -run` is given; STORIES='TestStories|TestErrors' is all there are.
set -euo pipefail

results=$1
cd "$(dirname "$0")/../.."
all='image-step image-job local-step local-job image-step-squash image-job-squash local-step-squash local-job-squash'
scenarios='TestStories/(array|batch|daemon-stopped|export|het|images|local|lock-changes|nested|other-env|overlap|path-kept|private|root-squash|srun-salloc|stdin-wrap|store-safe|without|wrapper)$'
scenarios+='|TestErrors/(fetch-errors|helper-breaks|helper-hangs|lock-errors|platform-missing|store-broken|store-missing|store-readonly)$'
failed=
for row in ${ROWS:-$all}; do
	case " $all " in
	*" $row "*) ;;
	*)
		echo "deliveries.sh: there is no run $row; there are: $all" >&2
		exit 2
		;;
	esac
	keep='' start='' squash=''
	case $row in local-*) keep=yes ;; esac
	case $row in *-job*) start=--container-tmpfs ;; esac
	case $row in *-squash) squash=yes ;; esac
	echo "== $row"
	HPCENV_TEST_AARCH64=no HPCENV_TEST_DELIVERY=image HPCENV_TEST_LOCAL=$keep HPCENV_TEST_START=$start HPCENV_TEST_SQUASH=$squash \
		contrib/ci/gotest.sh "$results/delivery-$row.json" -tags cluster -count=1 -timeout 30m \
		-run "${STORIES:-$scenarios}" ./slurm/clustertest || failed+=" $row"
done
go run ./contrib/ci/testcount -totals "$results"/delivery-*.json
[ -z "$failed" ] || {
	echo "failed:$failed"
	exit 1
}

#!/bin/bash
# gotest.sh RESULTS ARGUMENT…: go test -json with the arguments; the events go
# to the file RESULTS, what people want to see to the terminal. Exits as the
# tests did. LOGS=TEST,… shows those tests' output also if they passed.
set -euo pipefail

results=$1
shift
cd "$(dirname "$0")/../.."
go test -json "$@" 2>&1 | tee "$results" | go run ./contrib/ci/testcount -logs "${LOGS:-}"

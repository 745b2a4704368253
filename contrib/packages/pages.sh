#!/bin/bash
# pages.sh DIR VERSION: manual pages (gzip) and completions of this source tree in DIR.
set -euo pipefail

dir=$(realpath "$1") version=$2
cd "$(dirname "$0")/../.."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:?"SOURCE_DATE_EPOCH is not set: the time of the sources, in seconds"}
rm -rf "$dir/man" "$dir/completions"
go run ./contrib/packages/pages "$dir" "$version"
gzip -9nf "$dir"/man/*

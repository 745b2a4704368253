#!/bin/bash
# Checks every script of the repository.
set -euo pipefail

cd "$(dirname "$0")/../.."
# Scripts are read together with the files they source; those are not programs
# of their own.
mapfile -t scripts < <(git ls-files --cached --others --exclude-standard |
	while read -r file; do
		[ -f "$file" ] && head -c 64 "$file" | head -n 1 | grep -qaE '^#!/bin/(ba)?sh' &&
			printf '%s\n' "$file"
	done || true)
shellcheck --external-sources --severity=warning "${scripts[@]}"

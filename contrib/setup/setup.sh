#!/bin/bash
# setup.sh [--check | --help]: makes this machine ready to build and test hpcenv.
#
# On Debian and Ubuntu as root it installs what is missing and makes the three
# accounts of the development cluster. Anywhere else it says exactly what is
# missing and exits 2. What is there already is left alone, so that running it
# again costs a moment.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=contrib/setup/packages.sh
. "$here/packages.sh"
# shellcheck source=contrib/setup/accounts.sh
. "$here/accounts.sh"
# shellcheck source=contrib/setup/gotool.sh
. "$here/gotool.sh"

usage() {
	cat <<'TEXT'
setup.sh [--check | --help]: makes this machine ready to build and test hpcenv

  (nothing)   install what is missing and make the accounts of the development
              cluster (Debian 12/13 or Ubuntu 24.04, as root)
  --check     install nothing; exit 2 and say what is missing, if something is
  --help      this text
TEXT
}

say() { printf 'setup: %s\n' "$*"; }

# Exits 2 with a list of everything that a person has to see to.
refuse() {
	local why=$1 missing=$2
	{
		say "$why"
		if [ -n "$missing" ]; then
			say "missing here (named as Debian packages):"
			local p
			for p in $missing; do printf '  %-24s %s\n' "$p" "$(package_use "$p")"; done
		fi
		gotool_ok || say "missing here: $(gotool_want)"
		accounts_missing | sed 's/^/setup: missing account: /'
		say "next: install these, or run 'make setup' as root on Debian 12/13 or Ubuntu 24.04"
	} >&2
	exit 2
}

main() {
	local check=no missing
	while [ $# -gt 0 ]; do
		case $1 in
		--check) check=yes ;;
		--help | -h) usage && return 0 ;;
		*)
			say "unknown argument: $1" >&2
			say "next: setup.sh --help" >&2
			return 2
			;;
		esac
		shift
	done
	missing=$(packages_missing)
	if [ -z "$missing" ] && gotool_ok && [ -z "$(accounts_missing)" ]; then
		say "nothing is missing"
		return 0
	fi
	[ "$check" = yes ] && refuse "this machine is not ready" "$missing"
	is_debian || refuse "this is not Debian or Ubuntu: nothing is installed from here" "$missing"
	[ "$(id -u)" = 0 ] || refuse "not root: nothing is installed from here" "$missing"
	if [ -n "$missing" ]; then
		local names
		mapfile -t names <<<"$missing"
		say "installing: ${names[*]}"
		packages_install "${names[@]}"
		missing=$(packages_missing)
		[ -z "$missing" ] || refuse "the package manager did not bring everything" "$missing"
	fi
	accounts_make
	gotool_ok || refuse "the Go tool chain is missing or too old" ""
	say "ready"
}

main "$@"

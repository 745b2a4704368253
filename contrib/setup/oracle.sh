#!/bin/bash
# The virtual environment of the oracle (internal/oracle): the reference
# installer and builder, in the versions of oracle-requirements.txt.
#
#   oracle.sh make    make it unless it is there; print its interpreter
#   oracle.sh path    print its interpreter; exit 3 if it was not made
#
# It lies in ${HPCENV_CACHE:-/var/cache/hpcenv-dev}/oracle-<key>; the key covers
# the versions and the Python that it was made with.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=contrib/setup/packages.sh
. "$here/packages.sh"
requirements=$here/oracle-requirements.txt
cache=${HPCENV_CACHE:-/var/cache/hpcenv-dev}

die() {
	printf 'oracle.sh: %s\n' "$2" >&2
	exit "$1"
}

# A Python that can make virtual environments.
python() {
	local p
	for p in python3 /usr/bin/python3; do
		if "$p" -c 'import venv, ensurepip' 2>/dev/null; then
			printf '%s\n' "$p"
			return
		fi
	done
	return 1
}

if ! base=$(python); then
	[ "${1-}" = make ] && is_debian && [ "$(id -u)" = 0 ] ||
		die 3 "no python3 here can make virtual environments; next: install python3-venv"
	packages_install python3-venv >&2
	base=$(python) || die 1 "python3-venv is installed, but python3 still cannot make virtual environments"
fi
key=$({
	cat "$requirements"
	"$base" -c 'import platform, sys; print(sys.executable, platform.python_version(), platform.machine())'
} | sha256sum | cut -c1-12)
env=$cache/oracle-$key

make_env() {
	mkdir -p "$cache" || die 1 "cannot write to the cache $cache; set HPCENV_CACHE to a folder of yours"
	# One maker at a time; who waited finds it made.
	(
		flock 9
		[ -e "$env/ready" ] && exit
		rm -rf "$env" # what a killed maker left
		"$base" -m venv "$env"
		"$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r "$requirements"
		touch "$env/ready"
	) 9>"$cache/oracle.lock" >&2
}

case ${1-} in
make) make_env ;;
path) [ -e "$env/ready" ] || die 3 "$env was not made; next: contrib/setup/oracle.sh make" ;;
*)
	sed -n '2,/^set -eu/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
	;;
esac
printf '%s\n' "$env/bin/python"

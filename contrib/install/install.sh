#!/bin/sh
# install.sh BUILD: installs what BUILD holds for one architecture (hpcenv,
# hpcenv-gpu, hpcenvd, hpcenv_spank.so; build/amd64 after `make build`), with the
# units, Slurm's scripts and the example configurations. `make install` calls it.
#
# From the environment:
#   DESTDIR       put before every path (packages); default none
#   PREFIX        /usr
#   UNITDIR       $PREFIX/lib/systemd/system
#   PLUGINDIR     Slurm's PluginDir; default: the first that is found here
#   PREFIX_ROOT   the (empty) directory where environments appear: /opt/hpcenv/e
#   PACKAGES      which of hpcenv (commands), hpcenv-daemon (the daemon's host) and
#                 hpcenv-slurm (login and compute nodes: plugin, prolog, health check);
#                 default all. This list is also that of the deb and rpm packages.
#   PAGES         manual pages and completions (build/pages after `make pages`);
#                 default: none
#   ZSHDIR        where zsh looks for completions: $PREFIX/share/zsh/site-functions
#
# Configurations go to $PREFIX/share/hpcenv/examples: what is in /etc/hpcenv is
# the administrator's and never touched. Left out where they were not built: hpcenvd,
# which only one host needs, and hpcenv-gpu, which nodes without GPUs do not need.
set -eu

build=${1:?"usage: install.sh BUILD (e.g. build/amd64)"}
here=$(cd "$(dirname "$0")/.." && pwd)
dest=${DESTDIR:-}
prefix=${PREFIX:-/usr}
units=${UNITDIR:-$prefix/lib/systemd/system}
case $prefix in
/usr) sysusers=/usr/lib/sysusers.d/hpcenv.conf tmpfiles=/usr/lib/tmpfiles.d/hpcenv.conf ;;
*) sysusers=$prefix/share/hpcenv/examples/sysusers.conf tmpfiles=$prefix/share/hpcenv/examples/tmpfiles.conf ;;
esac
root=${PREFIX_ROOT:-/opt/hpcenv/e}
plugins=${PLUGINDIR:-}
if [ -z "$plugins" ]; then
	for plugins in /usr/lib/*-linux-gnu/slurm-wlm /usr/lib64/slurm /usr/lib/slurm "$prefix/lib/slurm"; do
		[ -d "$plugins" ] && break
	done
fi

packages=${PACKAGES:-hpcenv hpcenv-daemon hpcenv-slurm}
pages=${PAGES:-}

# of PACKAGE: whether it is to be installed.
of() {
	case " $packages " in *" $1 "*) return 0 ;; esac
	return 1
}

for file in hpcenv hpcenv_spank.so; do
	[ -e "$build/$file" ] || {
		echo "install: $build/$file is not built" >&2
		echo "next: make build" >&2
		exit 2
	}
done

# put MODE FROM TO: TO with its directories, below DESTDIR. The rename lets a
# running program keep its old file.
put() {
	mkdir -p "$dest$(dirname "$3")"
	install -m "$1" "$2" "$dest$3.new"
	mv -f "$dest$3.new" "$dest$3"
	echo "$dest$3"
}

# text MODE FROM TO: the same, with this installation's paths in place of the
# defaults.
text() {
	mkdir -p "$dest$(dirname "$3")"
	sed -e "s|/usr/libexec/hpcenv/|$prefix/libexec/hpcenv/|g" \
		-e "s|/usr/bin/hpcenv|$prefix/bin/hpcenv|g" \
		-e "s|/usr/share/doc/hpcenv/|$prefix/share/doc/hpcenv/|g" \
		-e "s|/opt/hpcenv/e|$root|g" "$2" >"$dest$3.new"
	chmod "$1" "$dest$3.new"
	mv -f "$dest$3.new" "$dest$3"
	echo "$dest$3"
}

if of hpcenv; then
	put 755 "$build/hpcenv" "$prefix/bin/hpcenv"
	text 644 "$here/systemd/hpcenv.conf" "$prefix/share/hpcenv/examples/hpcenv.conf"
	text 644 "$here/slurm/profile.sh" "$prefix/share/hpcenv/examples/profile.sh"
	text 644 "$here/systemd/apparmor" "$prefix/share/hpcenv/apparmor"
	put 644 "$here/../README.md" "$prefix/share/doc/hpcenv/README.md"
	text 644 "$here/administrators.md" "$prefix/share/doc/hpcenv/administrators.md"
	text 644 "$here/mixed-clusters.md" "$prefix/share/doc/hpcenv/mixed-clusters.md"
	# systemd reads it, like sysusers.d, from /usr/lib and /etc alone; elsewhere both are examples.
	text 644 "$here/systemd/tmpfiles.conf" "$tmpfiles"
	# A mount unit is named after its mount point.
	name=$(printf '%s' "${root#/}" | sed -e 's|-|\\x2d|g' -e 's|/|-|g')
	text 644 "$here/systemd/opt-hpcenv-e.mount" "$units/$name.mount"
	mkdir -p "$dest$root" "$dest/etc/hpcenv"
	printf '%s\n' "$dest$root/" "$dest/etc/hpcenv/"
	if [ -n "$pages" ]; then
		for page in "$pages"/man/hpcenv*.1.gz; do
			put 644 "$page" "$prefix/share/man/man1/${page##*/}"
		done
		put 644 "$pages/completions/hpcenv.bash" "$prefix/share/bash-completion/completions/hpcenv"
		put 644 "$pages/completions/hpcenv.zsh" "${ZSHDIR:-$prefix/share/zsh/site-functions}/_hpcenv"
		put 644 "$pages/completions/hpcenv.fish" "$prefix/share/fish/vendor_completions.d/hpcenv.fish"
	fi
fi

if of hpcenv-daemon && [ -e "$build/hpcenvd" ]; then
	put 755 "$build/hpcenvd" "$prefix/bin/hpcenvd"
	text 644 "$here/systemd/hpcenvd.service" "$units/hpcenvd.service"
	text 644 "$here/systemd/hpcenvd.socket" "$units/hpcenvd.socket"
	text 644 "$here/prometheus/hpcenv.rules.yml" "$prefix/share/hpcenv/hpcenv.rules.yml"
	if [ -n "$pages" ]; then
		for page in "$pages"/man/hpcenvd*.8.gz; do
			put 644 "$page" "$prefix/share/man/man8/${page##*/}"
		done
	fi
fi
if of hpcenv-daemon; then
	text 644 "$here/systemd/sysusers.conf" "$sysusers"
	text 644 "$here/systemd/hpcenvd.yaml" "$prefix/share/hpcenv/examples/hpcenvd.yaml"
	# Builds run from any host that can submit, not the daemon's alone.
	text 644 "$here/systemd/hpcenv-build.service" "$units/hpcenv-build.service"
fi

if of hpcenv-slurm; then
	put 755 "$build/hpcenv" "$prefix/libexec/hpcenv/hpcenv"
	put 644 "$build/hpcenv_spank.so" "$plugins/hpcenv_spank.so"
	if [ -e "$build/hpcenv-gpu" ]; then
		put 755 "$build/hpcenv-gpu" "$prefix/libexec/hpcenv/hpcenv-gpu"
	fi
	text 755 "$here/slurm/prolog" "$prefix/libexec/hpcenv/prolog"
	text 755 "$here/slurm/epilog" "$prefix/libexec/hpcenv/epilog"
	text 755 "$here/slurm/health" "$prefix/bin/hpcenv-health"
	text 644 "$here/slurm/cli_filter.lua" "$prefix/share/hpcenv/cli_filter.lua"
	text 644 "$here/slurm/job_submit.lua" "$prefix/share/hpcenv/job_submit.lua"
	text 644 "$here/systemd/hpcenv-facts.service" "$units/hpcenv-facts.service"
fi

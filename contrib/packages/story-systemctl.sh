#!/bin/bash
# systemctl, where no systemd runs: starts what a service's unit says, as the account and
# with the directories that it names, and stops it.
set -euo pipefail

unit_value() { sed -n "s/^$2=//p" "/usr/lib/systemd/system/$1" | tail -n 1; }

start() {
	local unit=$1 user name
	[ ! -e "/run/$unit.pid" ] || return 0
	user=$(unit_value "$unit" User)
	for name in $(unit_value "$unit" RuntimeDirectory); do install -d -o "$user" -g "$user" -m 755 "/run/$name"; done
	for name in $(unit_value "$unit" StateDirectory); do install -d -o "$user" -g "$user" -m 750 "/var/lib/$name"; done
	# shellcheck disable=SC2046 # words
	setsid setpriv --reuid "$user" --regid "$user" --init-groups $(unit_value "$unit" ExecStart) >"/run/$unit.log" 2>&1 </dev/null &
	echo $! >"/run/$unit.pid"
	for _ in $(seq 200); do
		[ ! -S /run/hpcenv/hpcenvd.sock ] || return 0
		sleep 0.05
	done
	cat "/run/$unit.log" >&2
	return 1
}

stop() {
	local unit=$1 pid
	[ -e "/run/$unit.pid" ] || return 0
	pid=$(cat "/run/$unit.pid")
	kill "$pid"
	while [ -e "/proc/$pid/exe" ]; do sleep 0.05; done
	rm "/run/$unit.pid"
}

verb=$1
shift
for word; do
	case $word in
	--now) ;;
	*.service)
		[ -e "/usr/lib/systemd/system/$word" ] || {
			echo "no unit $word" >&2
			exit 5
		}
		case $verb in
		enable | start) start "$word" ;;
		disable | stop) stop "$word" ;;
		restart) stop "$word" && start "$word" ;;
		*)
			echo "not played: $verb" >&2
			exit 1
			;;
		esac
		;;
	*.socket) [ -e "/usr/lib/systemd/system/$word" ] ;; # the service makes its own
	*)
		echo "not played: $verb $word" >&2
		exit 1
		;;
	esac
done

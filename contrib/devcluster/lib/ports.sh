# shellcheck shell=bash
# Free TCP ports.

# Ports in use by anything, as numbers, one a line.
ports_used() {
	local file line port
	for file in /proc/net/tcp /proc/net/tcp6; do
		[ -r "$file" ] || continue
		while read -r _ line _; do
			port=${line##*:}
			[[ $port =~ ^[0-9A-F]{4}$ ]] && printf '%d\n' "0x$port"
		done <"$file"
	done
}

# The first of $1 ports in a row that are free now, below the range from which
# the kernel takes ports for clients. Two clusters that start at once begin to
# look at different places.
ports_free() {
	local count=$1 used first port try
	used=" $(ports_used | tr '\n' ' ') "
	for ((try = 0; try < 200; try++)); do
		first=$((20000 + RANDOM % 9000))
		for ((port = first; port < first + count; port++)); do
			[[ $used == *" $port "* ]] && continue 2
		done
		printf '%d' "$first"
		return 0
	done
	die "no $count free ports in a row between 20000 and 29000"
}

# shellcheck shell=bash
# A sandbox for the emulated node.

# sandbox_lend NEW: gives the root NEW, of another architecture, this machine's
# bubblewrap. The emulator does not pass on the calls that make name spaces, so
# bubblewrap itself runs as this machine's program; what it starts is of the
# node's architecture. It leaves out the filter of system calls, which is for
# those of the node's architecture while the kernel sees the emulator's.
sandbox_lend() {
	local new=$1 dir=/usr/lib/hpcenv-dev-sandbox bwrap lib
	bwrap=$(command -v bwrap) || return 0
	mkdir -p "$new$dir"
	cp "$bwrap" "$new$dir/bwrap"
	while read -r lib; do
		cp "$lib" "$new$dir/"
	done < <(ldd "$bwrap" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }')
	lib=$(basename "$(ldd "$bwrap" | awk '$1 ~ /^\// { print $1 }')")
	cat >"$new/usr/bin/bwrap" <<-END
		#!/bin/bash
		args=()
		while [ \$# -gt 0 ] && [ "\$1" != -- ]; do
			if [ "\$1" = --seccomp ]; then
				shift 2
			else
				args+=("\$1")
				shift
			fi
		done
		exec $dir/$lib --library-path $dir $dir/bwrap "\${args[@]}" "\$@"
	END
	chmod 755 "$new/usr/bin/bwrap"
}

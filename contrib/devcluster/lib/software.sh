# shellcheck shell=bash
# What was built, brought to where the cluster runs it: STATE/sw on the submit
# host, nodes/NAME/sw on a node (which the node sees at STATE/sw). A node's own
# copy can be broken or removed by a test without touching the others.

# What $1 (x86_64 or aarch64) is called in the build folder.
build_arch() {
	case $1 in
	x86_64) printf amd64 ;;
	aarch64) printf arm64 ;;
	esac
}

# software_copy ARCH DIR: fills DIR/bin, DIR/lib, DIR/libexec.
software_copy() {
	local arch=$1 dir=$2 from
	from=${HPCENV_BUILD:-$REPO/build}/$(build_arch "$arch")
	mkdir -p "$dir/bin" "$dir/lib" "$dir/libexec"
	software_file "$from/hpcenv" "$dir/bin/hpcenv" 755 "$PLUGIN"
	software_file "$from/hpcenv-gpu" "$dir/bin/hpcenv-gpu" 755 no
	software_file "$from/hpcenv_spank.so" "$dir/lib/hpcenv_spank.so" 644 "$PLUGIN"
	[ "$arch" != x86_64 ] || software_file "$from/hpcenvd" "$dir/bin/hpcenvd" 755 "$DAEMON"
	hook_script prolog "$dir"
	hook_script epilog "$dir"
}

# software_file FROM TO MODE NEEDED: by rename, so that a running cluster sees
# the old or the new file.
software_file() {
	local from=$1 to=$2 mode=$3 needed=$4
	if [ ! -e "$from" ]; then
		[ "$needed" = no ] && return 0
		die "$from is not built: run make build, or start with --without-plugin --without-daemon"
	fi
	cp "$from" "$to.new"
	chmod "$mode" "$to.new"
	mv -f "$to.new" "$to"
}

# The prolog and epilog as they are shipped, with this cluster's paths.
hook_script() {
	local name=$1 dir=$2
	sed "s|^helper=.*|helper=$STATE/sw/bin/hpcenv|" "$REPO/contrib/slurm/$name" |
		replace_file "$dir/libexec/$name" 755
}

software_install() {
	local node arch
	software_copy x86_64 "$STATE/sw"
	while read -r node; do
		arch=x86_64
		[ "$node" != a1 ] || arch=aarch64
		software_copy "$arch" "$STATE/nodes/$node/sw"
	done < <(node_names)
}

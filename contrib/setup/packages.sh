# shellcheck shell=bash
# What hpcenv's build, tests and development cluster need from Debian or Ubuntu.

# One line per package: name, the file that proves it, and what needs it. A
# proof is looked for instead of asking dpkg, so that the list also serves
# other distributions and hand-installed tools.
package_table() {
	cat <<'TABLE'
slurmctld            /usr/sbin/slurmctld                         the development cluster's controller
slurmd               /usr/sbin/slurmd                            the development cluster's nodes
slurm-client         /usr/bin/sbatch                             sbatch, srun, salloc
munge                /usr/sbin/munged                            authentication of the cluster
libslurm-dev         /usr/include/slurm/spank.h                  building the SPANK shim
gcc                  /usr/bin/gcc                                building the SPANK shim and SQLite
libc6-dev            /usr/include/stdlib.h                       building the SPANK shim and SQLite
make                 /usr/bin/make                               the Makefile
gcc-aarch64-linux-gnu /usr/bin/aarch64-linux-gnu-gcc             the shim for aarch64 nodes
libc6-dev-arm64-cross /usr/aarch64-linux-gnu/include/stdlib.h    the shim for aarch64 nodes
squashfs-tools       /usr/bin/mksquashfs                         environment images
bubblewrap           /usr/bin/bwrap                              the sandbox for package code
qemu-user-static     /usr/bin/qemu-aarch64-static                the aarch64 node
debootstrap          /usr/sbin/debootstrap                       the aarch64 root and the Debian 13 root
debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg verifying what debootstrap fetches
binutils             /usr/bin/readelf                            checks of what was built
file                 /usr/bin/file                               checks of what was built
squashfuse           /usr/bin/squashfuse                         images without root
fuse3                /usr/bin/fusermount3                        faulty file systems in tests
strace               /usr/bin/strace                             proofs of what a process does not touch
python3              /usr/bin/python3                            the demo channel, the host's own Python
patchelf             /usr/bin/patchelf                           the demo channel
bzip2                /usr/bin/bzip2                              the demo channel
xz-utils             /usr/bin/xz                                 the demo channel
zstd                 /usr/bin/zstd                               the demo channel
util-linux           /usr/bin/unshare                            the nodes' namespaces
procps               /usr/bin/pgrep                              looking for leftovers
iproute2             /usr/bin/ss                                 looking for leftovers
curl                 /usr/bin/curl                               checks against local servers
ca-certificates      /etc/ssl/certs/ca-certificates.crt          fetching over https
e2fsprogs            /usr/sbin/mkfs.ext4                         nodes' disks in make bench-storm, bench-link
xfsprogs            /usr/sbin/mkfs.xfs                          an XFS with reflinks in tests
libopenmpi-dev       /usr/bin/mpicc                              site builds against an MPI, in tests
openmpi-bin          /usr/bin/mpirun                             MPI programs on the cluster's nodes
prometheus           /usr/bin/promtool                           tests of the alert rules
rpm                  /usr/bin/rpm                                looking into the rpm packages
hyperfine            /usr/bin/hyperfine                          make bench-launch
TABLE
}

# The names of the packages whose proof is not on this machine, one a line.
packages_missing() {
	local name proof _
	while read -r name proof _; do
		[ -e "$proof" ] || [ -e "/usr/local/bin/${proof##*/}" ] || printf '%s\n' "$name"
	done < <(package_table)
}

# What needs package $1.
package_use() {
	package_table | awk -v want="$1" '$1 == want { $1 = ""; $2 = ""; sub(/^ +/, ""); print }'
}

is_debian() {
	[ -r /etc/os-release ] && command -v apt-get >/dev/null || return 1
	local id like
	id=$(. /etc/os-release && printf '%s' "${ID:-}")
	like=$(. /etc/os-release && printf '%s' "${ID_LIKE:-}")
	case " $id $like " in *" debian "* | *" ubuntu "*) return 0 ;; esac
	return 1
}

# Installs the named packages without starting their services: munge, slurmctld
# and slurmd of the system would be in the way of nobody's cluster but useful to
# none. A policy-rc.d that refuses to start anything is there for the time of
# the installation only, unless the machine has one of its own.
packages_install() {
	local policy=/usr/sbin/policy-rc.d ours=no rc=0
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		ours=yes
	fi
	apt_install "$@" || rc=$?
	[ "$ours" = no ] || rm -f "$policy"
	return "$rc"
}

apt_install() {
	local get=(apt-get -q -y -o Dpkg::Use-Pty=0)
	export DEBIAN_FRONTEND=noninteractive
	"${get[@]}" install --no-install-recommends "$@" && return 0
	# The package lists may be missing or old: bring them and try once more.
	"${get[@]}" update
	"${get[@]}" install --no-install-recommends "$@"
}

#!/bin/bash
# story.sh ROOT PACKAGES BLOCKS: in a copy of a Debian root (nothing is written to ROOT) goes
# through the administrator's guide with the packages of PACKAGES/1.0 and 1.1: BLOCKS holds the
# guide's commands, a file each. Needs root and namespaces of its own; packages_test.go calls it.
set -euo pipefail

root=$1 packages=$2 blocks=$3
here=$(cd "$(dirname "$0")" && pwd)
# A file system of its own: an overlay cannot lie on an overlay.
mount -t tmpfs -o mode=755 story /mnt
mkdir /mnt/{upper,work,root}
mount -t overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" story /mnt/root
mount --rbind /dev /mnt/root/dev
mount --rbind /sys /mnt/root/sys
mount -t proc proc /mnt/root/proc
mount -t tmpfs -o mode=755 run /mnt/root/run
mkdir -p /mnt/root/story/{packages,blocks}
mount --bind "$packages" /mnt/root/story/packages
mount --bind "$blocks" /mnt/root/story/blocks
install -m 755 "$here/story-inside.sh" /mnt/root/story/inside
install -m 755 "$here/story-systemctl.sh" /mnt/root/usr/bin/systemctl
# Names are resolved only where there is an address that is not 127.*.
ip link set lo up
ip address add 192.0.2.1/32 dev lo
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot /mnt/root /story/inside

#!/bin/bash
# Prints the Debian release whose Slurm has the version of this machine's: the
# root of another architecture is made of that release, since all nodes of a
# cluster run one version.
set -euo pipefail

case $(slurmctld -V) in
*' 22.05.'*) echo bookworm ;;
*' 24.11.'*) echo trixie ;;
*)
	echo "host-suite: no Debian release is known to have the Slurm of this machine: $(slurmctld -V)" >&2
	exit 1
	;;
esac

#!/bin/bash
# What story.sh does in the root. Every step says its name; what fails ends it.
set -euo pipefail
trap 'echo "failed: $step (line $LINENO): $BASH_COMMAND"; tail -n 8 /run/*.log' ERR

step=begin
step() {
	step=$*
	printf '== %s\n' "$step"
}
# expect PATTERN COMMAND…: its output has the pattern.
expect() {
	local want=$1 out
	shift
	out=$("$@" 2>&1) || { printf '%s: exit %d\n%s\n' "$*" $? "$out" && return 1; }
	grep -Eq -e "$want" <<<"$out" || { printf '%s: no %s in\n%s\n' "$*" "$want" "$out" && return 1; }
}
# refused PATTERN COMMAND…: fails, and says so.
refused() {
	local want=$1 out
	shift
	if out=$("$@" 2>&1); then printf '%s: not refused\n%s\n' "$*" "$out" && return 1; fi
	grep -Eq -e "$want" <<<"$out" || { printf '%s: no %s in\n%s\n' "$*" "$want" "$out" && return 1; }
}
# soon COMMAND…: succeeds within 20 s.
soon() {
	local end=$((SECONDS + 20))
	while [ "$SECONDS" -lt "$end" ]; do
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.1
	done
	echo "not within 20 s: $*"
	return 1
}
# guide N: runs block N of the administrator's guide, in the directory of a version's packages.
guide() {
	step "guide, block $1: $(head -n 1 "/story/blocks/$1")"
	(cd /story/packages/1.0 && bash -euo pipefail "/story/blocks/$1")
}
# All files of the system, but for what changes by itself.
files() {
	find / -xdev \( -path /story -o -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/cache -o -path /var/log \
		-o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/lib/slurm -o -path /etc/passwd- -o -path /shared -o -path /home -o -path /etc/hpcenv \) -prune -o -print | sort
}
state() { scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'; }
ended() { [ "$(state "$1")" = COMPLETED ]; }
restart_slurmd() {
	kill "$slurmd"
	# 24.11 may wait for ever for a connection that it has itself.
	for _ in $(seq 30); do [ ! -e "/proc/$slurmd/exe" ] || sleep 0.1; done
	[ ! -e "/proc/$slurmd/exe" ] || kill -KILL "$slurmd"
	wait "$slurmd" || true
	slurmd -D >/run/slurmd.log 2>&1 &
	slurmd=$!
	soon timeout 5 srun true
}

step a cluster of this host, without hpcenv
useradd --create-home user
hostname story
echo 127.0.0.1 localhost story >/etc/hosts
install -d -o munge -g munge /run/munge
dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 status=none
chown munge: /etc/munge/munge.key && chmod 400 /etc/munge/munge.key
setpriv --reuid munge --regid munge --init-groups munged --foreground >/run/munged.log 2>&1 &
install -d -o slurm -g slurm /var/lib/slurm/ctld
cat >/etc/slurm/slurm.conf <<CONF
ClusterName=story
SlurmctldHost=localhost
SlurmUser=slurm
StateSaveLocation=/var/lib/slurm/ctld
SlurmdSpoolDir=/var/lib/slurm/d
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
ReturnToService=2
MessageTimeout=60
NodeName=story NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=main Nodes=story Default=YES State=UP
CONF
soon test -S /run/munge/munge.socket.2
slurmctld -D -i >/run/slurmctld.log 2>&1 &
slurmd -D >/run/slurmd.log 2>&1 &
slurmd=$!
soon timeout 5 srun true
rmdir /opt/hpcenv/e /opt/hpcenv # the root has them for other tests
touch /opt/other                # dpkg takes an empty /opt away, which is no package's
files >/tmp/before

guide 1
expect '^hpcenvd:' getent passwd hpcenvd
expect hpcenv-build id -nG hpcenvd
expect '"?hpcenvd' stat -c %U /shared/hpcenv/FORMAT
guide 2
test ! -e /etc/slurm/plugstack.conf.d/hpcenv.conf # Slurm was told nothing
srun true
zcat /usr/share/man/man1/hpcenv-prepare.1.gz /usr/share/man/man8/hpcenvd.8.gz | grep '^\.TH' >/dev/null
bash -c '. /usr/share/bash-completion/completions/hpcenv; complete -p hpcenv' >/dev/null
hpcenv version
guide 3

step a job in an environment, as the guide left it
cd /home/user
cat >pixi.lock <<LOCK
version: 6
environments:
  default:
    channels:
    - url: https://conda.example/main/
    packages:
      linux-64: []
packages: []
LOCK
printf '#!/bin/sh\nid=${CONDA_PREFIX##*/}\ntest -d "$CONDA_PREFIX/conda-meta" && srun sh -c '\''echo in $CONDA_PREFIX, $HPCENV_DELIVERED'\''\n' >job.sh
chown user: pixi.lock job.sh
as_user() { setpriv --reuid user --regid user --init-groups env HOME=/home/user "$@"; }
as_user sbatch --wait --output=first.out --env-lock=. job.sh || { cat first.out; exit 1; }
expect '^in /opt/hpcenv/e/[0-9a-f]{32}, image$' cat first.out
refused 'no environment "nosuch"' as_user sbatch --env-lock=. --env-name=nosuch job.sh

step an upgrade: a job that was queued before runs after
held=$(as_user sbatch --parsable --hold --output=held.out --env-lock=. job.sh)
dpkg --install /story/packages/1.1/*.deb
expect '^1\.1' dpkg-query --show --showformat '${Version}' hpcenv-slurm
systemctl restart hpcenvd.service
as_user scontrol release "$held"
soon ended "$held"
cmp first.out held.out
restart_slurmd
as_user srun --env-lock=. sh -c 'test -d $CONDA_PREFIX'
hpcenv admin verify "$(sed 's|.*/\([0-9a-f]*\),.*|\1|' held.out)"

step the plugin cannot be taken away from Slurm
refused '/etc/slurm/plugstack.conf.d/hpcenv.conf requires hpcenv_spank.so' dpkg --remove hpcenv-slurm
as_user srun --env-lock=. true
restart_slurmd

step a plugin that Slurm cannot load: optional leaves Slurm as it is
plugin=$(dpkg --listfiles hpcenv-slurm | grep /hpcenv_spank.so)
# By renaming, as dpkg does it: slurmd has the file mapped.
mv "$plugin" /tmp/plugin
echo broken >"$plugin"
refused . srun true # the price of required
sed -i 's/^required/optional/' /etc/slurm/plugstack.conf.d/hpcenv.conf
srun true
restart_slurmd
srun true
refused 'unrecognized option' srun --env-lock=. true
mv /tmp/plugin "$plugin"
sed -i 's/^optional/required/' /etc/slurm/plugstack.conf.d/hpcenv.conf

guide 4
srun true
restart_slurmd
srun true
refused 'unrecognized option' srun --env-lock=. true
test -e /shared/hpcenv/FORMAT && test -e /etc/hpcenv/hpcenvd.yaml && getent passwd hpcenvd >/dev/null

step nothing of the packages is left
test ! -e /var/lib/hpcenv
files | diff /tmp/before -
step done

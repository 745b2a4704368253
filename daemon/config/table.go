package config

import (
	"time"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// Key is one thing that an administrator may say. All there are stand in Table: what the
// file, the variables and the flags may hold, the defaults and the documented file come
// from it.
type Key struct {
	// Name in the file, with the group before a dot; HPCENVD_GROUP_NAME is the variable.
	Name string
	// Default, and its type: string, bool, int, time.Duration, []string, or a list of
	// mappings, which the file alone can hold.
	Default any
	// Example stands in the documented file where there is no default; "" = the default.
	Example string
	// Live: a reload (SIGHUP) takes it; all else needs a restart.
	Live bool
	// Doc says what it does, in lines of at most 100 bytes, as the documented file has it.
	Doc string
}

// Table returns all keys, in the order of the documented file.
func Table() []Key { return table }

var table = []Key{
	{Name: "store", Default: "", Example: "/shared/hpcenv", Doc: `The store's directory on this host. The account of hpcenvd must own it.`},
	{Name: "socket", Default: "/run/hpcenv/hpcenvd.sock", Doc: `Where clients ask; open to every user of this host.`},
	{Name: "prefix_root", Default: "/opt/hpcenv/e", Doc: `Where environments appear on every node. It is written into their files, so it
cannot be changed once the store is made. At most 77 bytes.`},
	{Name: "platforms", Default: []string{"linux-64", "linux-aarch64"}, Doc: `What environments are made for, and which clusters are served; also for good.`},
	{Name: "clusters", Default: []string{}, Doc: `The clusters of Slurm that the store serves, by name (ClusterName); also for good. Empty:
whichever asks.`},
	{Name: "allow_root", Default: false, Doc: `hpcenvd needs no root and refuses to run as root.`},
	{Name: "byte_code", Default: true, Doc: `Python environments get compiled files (.pyc), made once in a sandbox of
bubblewrap. Without it on this host they come without, and users are told so.`},
	{Name: "delivery", Default: string(image.ClusterDefault), Doc: `How environments are published: image (one squashfs file; needs mksquashfs of
squashfs-tools, 4.5 or newer), tree (a directory with all files) or both. Jobs run
from either, with mount=host from trees alone; hpcenv run and hpcenv shell outside
of jobs attach images with squashfuse.`},
	{Name: "build_dir", Default: "/var/lib/hpcenv/build", Doc: `With image: a directory of this host's own disk where environments are built and
packages lie unpacked, so that the store sees archives and images only. It must
have room for the packages and one environment, and may be lost.`},
	{Name: "index", Default: "", Doc: `The index (SQLite) of what the store holds and of who asked for what: a file on this
host's own disk, never on NFS or Lustre. Empty: index.db beside build_dir. It may be
lost: the store is the truth.`},
	{Name: "administrators.users", Default: []string{}, Live: true, Doc: `Who may use hpcenv admin beside root of this host and the daemon's account: users, by
name or number, and groups.`},
	{Name: "administrators.groups", Default: []string{}, Live: true, Doc: `Their members are administrators, too.`},
	{Name: "support.users", Default: []string{}, Live: true, Doc: `Who may see what is everybody's (requests, leases, jobs, what would be removed), and
change nothing.`},
	{Name: "support.groups", Default: []string{}, Live: true, Doc: `Their members may, too.`},
	{Name: "budgets", Default: []Budget{}, Live: true, Doc: `What users, and all whose primary group it is together, may have:
{user: NAME | "*" (each who has no entry) | group: NAME, max_gb:, max_inodes: of the
environments that they asked for and that are there, prepares: that work at one time,
others wait, channels: [beginnings of the URLs that locks may name, https://HOST/CHANNEL;
file:/// for what users hand over]}. What is there already is never refused.`},
	{Name: "log_level", Default: "info", Live: true, Doc: `debug, info, warn or error.`},
	{Name: "fetch.parallel", Default: 8, Doc: `Downloads at one time.`},
	{Name: "fetch.allow", Default: []string{}, Doc: `Locks may name public hosts only, unless "host" or "host:port" stands here.`},
	{Name: "fetch.mirrors", Default: []MirrorRule{}, Doc: `Where else packages lie: {prefix: the beginning of URLs, urls: [what stands for
it]}. The longest prefix counts; one that fails goes behind the others for five
minutes; the place that the lock names is asked only if it is among the urls.
http, https, file, s3 and oci URLs. Mirrors need no entry in allow.`},
	{Name: "fetch.buckets", Default: []Bucket{}, Doc: `Where buckets lie that are not AWS's:
{name:, endpoint: URL, region:, path_style: true}.`},
	{Name: "fetch.credentials", Default: "", Doc: `A file of credentials in pixi's form (credentials.json), readable by the account
of hpcenvd only. Whatever they open, everybody on the cluster can have; what is
only for some users, those fetch with credentials of their own.`},
	{Name: "interpreters", Default: []python.Interpreter{}, Doc: `The Pythons that locks get which name none (uv.lock, pylock.toml): the version that
.python-version asks for, else the newest that the lock takes. One entry per
version and platform; list each version for all platforms of the cluster. with:
all that the package python depends on. An environment has its id by what is
written here: another entry for the same version makes other environments.
  - version: 3.12.4
    platform: linux-64
    kind: conda
    url: https://conda.example/linux-64/python-3.12.4-h194c7f8_0_cpython.conda
    sha256: 5f1c...
    with:
      - {url: "https://conda.example/linux-64/libffi-3.4.2-h7f98852_5.tar.bz2", sha256: 77b0...}
  - version: 3.12.4
    platform: linux-aarch64
    kind: standalone         # an install_only archive of python-build-standalone
    url: https://files.example/cpython-3.12.4-aarch64-unknown-linux-gnu-install_only_stripped.tar.gz
    sha256: 8a2e...`},
	{Name: "glibc", Default: pyenv.DefaultGlibc, Doc: `The glibc that wheels of such locks may ask for: the oldest of the nodes'.`},
	{Name: "inventory.refresh", Default: 5 * time.Minute, Doc: `How often Slurm is asked for its nodes; a prepare asks if the answer is older
than a minute.`},
	{Name: "inventory.scontrol", Default: "", Doc: `The command; empty = scontrol from PATH.`},
	{Name: "nodes.listen", Default: "", Doc: "Where nodes tell what they are (`hpcenv slurm-hook health`, as HealthCheckProgram\n" +
		"or from a timer): a TCP address, host:port or :port, and 6821 unless another program\n" +
		"has it. Empty: they cannot, and Slurm's features and GRES are all that is known of\n" +
		"them. Requests and answers carry MUNGE credentials; only root of a node tells of it."},
	{Name: "nodes.munge_socket", Default: "", Doc: `munged's socket; empty = MUNGE's default.`},
	{Name: "selection.rules", Default: []selection.Rule{}, Doc: "Which environment of a lock a kind of node gets, where several fit: rows over the\n" +
		"default table (`hpcenv plan --rules` shows all). A row is\n" +
		"{key:, gpu: true|false, network: [infiniband, roce, efa, slingshot-10, slingshot-11,\n" +
		"omni-path, ethernet], partition: [], architecture: [linux-64], mixed: true for jobs\n" +
		"over unlike nodes, prefer: [UCX with GPU, GASNet-EX, with GPU, without GPU, none,\n" +
		"environment NAME], set: [{name:, value:}]}. One with the key of a default row\n" +
		"replaces it; two that contradict each other are refused."},
	{Name: "selection.enforced", Default: false, Doc: `slurmctld runs job_submit.lua (share/hpcenv): jobs stay where they were planned for.`},
	{Name: "selection.cuda_table", Default: CUDATablePath, Doc: `The site's own table of which driver runs which CUDA, on which GPUs, in place of the
program's (envs/cuda/cuda.txt is the form): root's file, read at the start; at this
path it need not be there. It goes into the store with the nodes. Empty: none.`},
	{Name: "scripts.allow", Default: []ScriptRule{}, Doc: `Link scripts (post-link, pre-link) of packages are code that its makers want run
at installation. None is run, and what was skipped is reported, but for what
stands here: {channel: the whole http or https URL, package: the name}. A package
is of the channel that its URL in the lock lies in, once that channel has
delivered it. They run in a sandbox without network; an environment with them
has another id.`},
	{Name: "scripts.job_platforms", Default: []string{}, Doc: `Scripts for these platforms run as Slurm jobs of a build account
(hpcenv-build.service), to which they are handed in a folder on shared storage:
install -d -o hpcenvd -g hpcenv-build -m 2750 /shared/hpcenv-spool
The others run on this host. wait is how long a job may wait for a node.`},
	{Name: "scripts.spool", Default: "", Doc: `The folder on shared storage in which scripts and site builds are handed to the build
account.`},
	{Name: "scripts.wait", Default: time.Hour, Doc: `How long a job of the build account may wait for a node.`},
	{Name: "scripts.on_failure", Default: "degrade", Doc: `What becomes of an environment of which a script fails: degrade (it is made,
marked degraded, and every prepare says so) or refuse.`},
	{Name: "scripts.time", Default: 10 * time.Minute, Doc: `Bounds of one script: time, memory and processes of all it starts, and what it
may add to the prefix.`},
	{Name: "scripts.memory_mb", Default: 4096, Doc: `Memory of one script and all that it starts, in MiB.`},
	{Name: "scripts.processes", Default: 128, Doc: `Processes of one script.`},
	{Name: "scripts.disk_mb", Default: 4096, Doc: `What one script may add to the prefix, in MiB,`},
	{Name: "scripts.files", Default: 200_000, Doc: `and in files.`},
	{Name: "site_builds", Default: []sitebuild.Declaration{}, Doc: `What is compiled on nodes for environments that have a package: wrappers of GASNet-EX
and MPI. Each runs once per environment as a Slurm job of the build account
(scripts.spool, hpcenv-build.service). contrib/administrators.md describes the entries:
{name:, package:, networks:, nodes:, script:, arguments:, sources:, probe:, conduit:,
system:, mpi:, compiler:, microarchitecture:, paths:, variables:, time:, memory_mb:,
processes:, disk_mb:, files:}`},
	{Name: "watch.locks", Default: []WatchEntry{}, Live: true, Doc: `Locks that are prepared when they change: {path: a lock, a directory (its lock, and those
of the directories in it) or a pattern of such, environments: [names; none = all]}. Only
regular files are opened, never links, with the rights of hpcenvd's account; of what lies
beside a lock nothing is read. hpcenv admin watched tells what came of each.`},
	{Name: "watch.every", Default: 5 * time.Minute, Doc: `How often they are looked at.`},
	{Name: "metrics.listen", Default: "", Doc: `Where Prometheus asks (/metrics): a TCP address, host:port or :port, e.g. 127.0.0.1:9821.
There are numbers only, no names of users or environments, and no password. Empty: nowhere.`},
	{Name: "gc.max_gb", Default: 0, Live: true, Doc: `The budget of all environments, in GB (10^9 bytes) and in inodes; 0: none. Above one of
them the least valuable go until both are below nine tenths: those with the most days
since their last use, times the share of the budget that they take.`},
	{Name: "gc.max_inodes", Default: 0, Live: true, Doc: `The same, in inodes.`},
	{Name: "gc.keep_used", Default: 168 * time.Hour, Live: true, Doc: `What was used so recently stays, whatever the budget; and what was not used for so long
goes, whatever the budget (0: never). What a job that Slurm knows may need, and what has
a name (hpcenv admin pin), always stays.`},
	{Name: "gc.unused_after", Default: 2160 * time.Hour, Live: true, Doc: `What was not used for so long goes, whatever the budget; 0: never.`},
	{Name: "gc.grace", Default: 72 * time.Hour, Live: true, Doc: `How long what was removed can be brought back (trash/ of the store), which prepare does
by itself.`},
	{Name: "gc.every", Default: 6 * time.Hour, Doc: `The time between two collections; 0: only when an administrator asks (hpcenv admin gc).`},
	{Name: "tmp.keep", Default: 48 * time.Hour, Live: true, Doc: `When unfinished work is removed.`},
}

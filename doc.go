// Package hpcenv gives every node of a Slurm job the locked environment that
// fits that node.
//
// The rooms of the house, and the one direction in which imports point:
//
//	cmd → daemon → {slurm, hooks} → envs → cache
//
// daemon/api (wire types and the client) is a leaf: hooks and cmd may use it,
// and it imports nothing of this module but types (internal/making), which it has in
// common with the store's descriptions of environments.
//
// The rooms, each with a page of its own:
//
//	cmd/hpcenv               the users' command line (cli), and the nodes' helper
//	cmd/hpcenv-gpu           asks the driver of a node's GPUs (cgo), and ends
//	cmd/hpcenvd              the daemon (serve)
//	daemon/api               wire types and the client
//	daemon/budget            what users and groups may have of it
//	daemon/catalog           the index in step with the store, and answers from it
//	daemon/collect           removes what nothing needs
//	daemon/config            what an administrator wrote
//	daemon/metrics           what Prometheus is told
//	daemon/schedules         what happens by the clock, and how it went
//	daemon/leases            what jobs and names need from being collected
//	daemon/inventory         what the cluster's nodes are
//	daemon/server            the API on a socket
//	daemon/service           the API's work, on a store
//	slurm/spank              the SPANK plugin (C)
//	slurm/buildjobs          link scripts as Slurm jobs
//	slurm/queries            what Slurm says of its nodes and partitions
//	slurm/hostlist           Slurm's way to write names of nodes
//	slurm/scope              which nodes a submission can land on
//	slurm/shortjob           a command as a job of its own, never left behind
//	slurm/clustertest        stories on a real cluster (scopetest: slurm/scope on one)
//	slurm/launchbench        what a launch costs
//	daemon/watch             locks that are prepared when they change
//	hooks/checkup            a node and what it can run, for a person
//	hooks/doctor             whether a host is as hpcenv needs it, for an administrator
//	hooks/facts              what a node is: archgen (its data on processors), factstest (recorded nodes),
//	                         factstree (unpacks one)
//	hooks/gpu                the health of a node's GPUs (gputest: drivers from tables)
//	hooks/handover           what a submission leaves for the daemon, and names
//	hooks/health             a node reads what it is, and tells
//	hooks/helper             the program behind the plugin, prolog and epilog
//	hooks/jobscript          lines of job scripts that would leave the environment
//	hooks/launch             the last step before a program of an environment starts on a node
//	hooks/loopdev            files as block devices, one per file and host
//	hooks/look               a user's request that root look at a node
//	hooks/outside            a process leaves the step that it was started in
//	hooks/pin                what a submission carries with its job
//	hooks/planning           a lock's description and the cluster's nodes, for plans
//	hooks/preflight          whether a node can run an environment, before a launch
//	hooks/prepared           what a store holds, by its files
//	hooks/selection          which environment each kind of node gets
//	hooks/smoke              every module of an environment, tried on a node
//	hooks/snapshot           what the cluster's nodes are, as published
//	hooks/squashfuse         images without the kernel's squashfs
//	hooks/staging            copies of images on a node's own disk, for root
//	hooks/wrapper            run, shell and shell-hook, without the plugin
//	envs/activation          what activation changes, as a patch
//	envs/bundle              environments as one file
//	envs/bytecode            compiled Python sources (pycbench: what they cost)
//	envs/conda               what a conda package says of itself; matchspec, version
//	envs/cuda                which driver runs which CUDA, on which GPUs: a table, and its
//	                         answers
//	envs/editable            a project used from its source tree
//	envs/elf                 what programs and libraries ask of a node; loader (what they
//	                         need, resolved as glibc's loader would)
//	envs/image               environments as one squashfs file
//	envs/linkscript          link scripts of conda packages
//	envs/lockfile            lock files; uvlock, pylock, pyfile and target for those of
//	                         Python packages
//	envs/lockinfo            what a lock holds, and how two differ
//	envs/materialize         prefixes, from packages to published trees
//	envs/needs               what an environment asks of a node, from its own files
//	envs/prepare             from a lock's bytes to published environments
//	envs/project             the files around a lock: where it is, the manifest
//	envs/pyenv               a uv.lock or pylock.toml joined with a Python
//	envs/pyproject           what a pyproject.toml declares of a project
//	envs/python              Python's packaging standards; marker, name, requirement,
//	                         tag, version
//	envs/requirement         what an environment asks of a node
//	envs/sandbox             where code of packages runs
//	envs/satisfy             whether a lock still has what its manifests ask for
//	envs/sitebuild           what a site compiles on its nodes for an environment
//	envs/stack               what an environment communicates with
//	envs/standalone          a Python that is one archive (python-build-standalone)
//	envs/task                tasks of a manifest, without a solve
//	envs/tomltree            TOML with its order and lines
//	envs/wheel               what a wheel is, and where its files go
//	cache                    the store: fetched, verified, unpacked, published
//	cache/archive            reading package archives
//	cache/credential         the credentials that users' tools keep
//	cache/fair               places shared among clients
//	cache/index              what is costly to ask of a store, in SQLite
//	cache/mirror             where else the content of a URL lies
//	cache/remote             http, https, s3, oci and file
//	internal/clientconf      where the daemon and the store are
//	internal/making          how an environment was made, as it is told
//	internal/fdmsg           messages between processes, with open files
//	internal/membound        little memory for short-lived programs
//	internal/munge           credentials of the site's MUNGE, and mungehttp, HTTP with them; mungetest
//	internal/nearest         what somebody meant who misspelled a name
//	internal/remember        what a user's own commands found out, kept
//	internal/plain           text of others without control characters
//	internal/shellword       arguments that can be copied into a shell
//	internal/version         what this program is called
//
// For tests and benchmarks:
//
//	internal/arch            which rooms may import which
//	internal/elftest         small ELF files for tests
//	internal/channelservers  real servers of channels: s3, oci, tokens
//	internal/condatest       small conda packages
//	internal/faultfs         slow and failing file systems
//	internal/ownmounts       mount namespaces of their own for test programs
//	internal/figure          figures of benchmarks
//	internal/oracle          prefixes beside rattler's; beside uv's: editables,
//	                         standalone, uvsync, wheels
//	internal/peer            other people's programs
//	internal/pypeer          uv and packaging
//	internal/standalonetest  archives like python-build-standalone's
//	internal/testdata        real locks and packages
//	internal/wheeltest       small wheels
package hpcenv

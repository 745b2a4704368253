package preflight_test

import (
	"testing"

	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

var (
	mlx = facts.Network{Kind: facts.InfiniBand, Device: "mlx5_0", Active: true, Rate: 200}
	cxi = facts.Network{Kind: facts.Slingshot11, Device: "cxi0", Active: true}
	eth = facts.Network{Kind: facts.Ethernet, Device: "eth0", Active: true}
)

var condaUCX = stack.Stack{Family: stack.UCX, Package: "ucx 1.19.0", Networks: []string{facts.InfiniBand, facts.RoCE, facts.Slingshot10}}

// stacked is a node with an environment of that stack.
func stacked(t testing.TB, s stack.Stack) *world {
	t.Helper()
	w := newWorld(t)
	w.in.Needs = &needs.Needs{Stack: s}
	return w
}

// TestTransports: what loads against the fabric that is there.
func TestTransports(t *testing.T) {
	w := stacked(t, condaUCX)
	w.lib("lib/ucx/libuct_ib.so", "libibverbs.so.1")
	w.lib("lib/ucx/libuct_rdmacm.so", "librdmacm.so.1", "libibverbs.so.1")
	w.in.Facts.Networks = []facts.Network{eth}
	w.none("transports")
	w.want("modules", preflight.Fits, "0 of 2 modules load; the others are for hardware that n7 does not have")

	w.in.Facts.Networks = []facts.Network{mlx, eth}
	w.want("transports", preflight.Warn,
		"UCX would run over TCP instead of mlx5_0 (infiniband, 200 Gbit/s): lib/ucx/libuct_ib.so (pack 1.0) needs libibverbs.so.1, which neither the environment nor n7 provides", "rdma-core")
	w.want("modules", preflight.Fits) // said once

	// In a job on one node it does not matter; in one on more it does.
	w.env["SLURM_JOB_ID"] = "1"
	w.want("transports", preflight.Fits, "does not matter on one node")
	w.in.MultiNode = true
	w.want("transports", preflight.Warn)

	w = stacked(t, condaUCX)
	w.lib("lib/ucx/libuct_ib.so", "libibverbs.so.1")
	w.lib("lib/libibverbs.so.1")
	w.in.Facts.Networks = []facts.Network{mlx}
	w.want("transports", preflight.Fits, "UCX (ucx 1.19.0) reaches mlx5_0")

	// A culprit that nobody knows, on the way.
	culprit := randomLibrary()
	w = stacked(t, condaUCX)
	w.lib("lib/libibverbs.so.1")
	w.lib("lib/libmlx5.so.1", culprit)
	w.lib("lib/ucx/libuct_ib.so", "libibverbs.so.1")
	w.lib("lib/ucx/libuct_ib_mlx5.so", "libmlx5.so.1")
	w.in.Facts.Networks = []facts.Network{mlx}
	w.want("transports", preflight.Warn, "reaches mlx5_0", "without rc_mlx5, dc_mlx5, ud_mlx5", "lib/ucx/libuct_ib_mlx5.so (pack 1.0) → lib/libmlx5.so.1 needs "+culprit)

	// The environment has no module at all, or its stack does not drive the network.
	w = stacked(t, condaUCX)
	w.in.Facts.Networks = []facts.Network{mlx}
	w.want("transports", preflight.Warn, "has no module for mlx5_0")
	w.in.Facts.Networks = []facts.Network{cxi}
	w.none("transports")
	w.want("fabric", preflight.Warn, "UCX (ucx 1.19.0) does not drive cxi0 (slingshot-11)", "hpcenv plan")
	w.in.Needs.Stack = stack.Stack{}
	w.none("transports")
	w.none("fabric")

	// libfabric with its providers built in has no module that could fail.
	w.in.Needs.Stack = stack.Stack{Family: stack.Libfabric, Package: "libfabric 2.1", Networks: []string{facts.InfiniBand}}
	w.in.Facts.Networks = []facts.Network{mlx}
	w.want("transports", preflight.Fits)
}

// TestFabricThatCannotBeUsed: whose fault it is decides.
func TestFabricThatCannotBeUsed(t *testing.T) {
	w := stacked(t, condaUCX)
	w.lib("lib/ucx/libuct_ib.so")
	w.survey()
	for _, c := range []struct {
		barred, problem string
		level           preflight.Level
	}{
		{"", `its state is "1: DOWN"`, preflight.Warn},
		{facts.Closed, "/dev/infiniband/uverbs0 is not for users to open (mode 0600)", preflight.Warn},
		{facts.Missing, "/dev/infiniband/uverbs0 is missing", preflight.Unhealthy},
	} {
		w.in.Facts.Networks = []facts.Network{{Kind: facts.InfiniBand, Device: "mlx5_0", Barred: c.barred, Problem: c.problem}, eth}
		w.want("transports", c.level, "mlx5_0 (infiniband) cannot be used: "+c.problem)
		// One device of two is enough.
		w.in.Facts.Networks = append(w.in.Facts.Networks, facts.Network{Kind: facts.InfiniBand, Device: "mlx5_1", Active: true})
		w.want("transports", preflight.Fits, "mlx5_1")
	}
	// A job on one node, and an environment that would not use it, run.
	w.in.Facts.Networks = []facts.Network{{Kind: facts.InfiniBand, Device: "mlx5_0", Barred: facts.Missing, Problem: "gone"}}
	w.env["SLURM_JOB_ID"] = "1"
	w.want("transports", preflight.Fits)
	delete(w.env, "SLURM_JOB_ID")
	w.in.Needs.Stack = stack.Stack{}
	w.none("transports")
}

// TestUCXSettings: a list leaves something of the fabric, or nothing.
func TestUCXSettings(t *testing.T) {
	w := stacked(t, condaUCX)
	w.lib("lib/ucx/libuct_ib.so")
	w.survey()
	efa := facts.Network{Kind: facts.EFA, Device: "rdmap0s6", Active: true}
	for _, c := range []struct {
		variable, value string
		network         facts.Network
		warns           bool
	}{
		{"UCX_TLS", "all", mlx, false}, {"UCX_TLS", "rc,sm,self", mlx, false}, {"UCX_TLS", "self, rc_x", mlx, false}, {"UCX_TLS", "\\dc,self", mlx, false},
		{"UCX_TLS", "tcp,sm,self,cuda", mlx, true}, {"UCX_TLS", "^ib", mlx, true}, {"UCX_TLS", "^rc,ud,dc", mlx, true}, {"UCX_TLS", "^rc,ud", mlx, false},
		{"UCX_TLS", "^rc_x,rc_v,ud_x,ud_v,dc_x", mlx, true}, {"UCX_TLS", "^tcp", mlx, false}, {"UCX_TLS", "srd,self", mlx, true}, {"UCX_TLS", "ud:aux,tcp", mlx, false},
		{"UCX_TLS", "srd,self", efa, false}, {"UCX_TLS", "rc,self", efa, true}, {"UCX_TLS", "^srd", efa, true}, {"UCX_TLS", "^tcp", efa, false},
		{"UCX_NET_DEVICES", "all", mlx, false}, {"UCX_NET_DEVICES", "mlx5_0:1", mlx, false}, {"UCX_NET_DEVICES", "eth0,mlx5_*:1", mlx, false},
		{"UCX_NET_DEVICES", "eth0", mlx, true}, {"UCX_NET_DEVICES", "mlx5_1:1", mlx, true}, {"UCX_NET_DEVICES", "^eth0", mlx, false}, {"UCX_NET_DEVICES", "^mlx5_0:1", mlx, true},
		{"UCX_NET_DEVICES", "eth0", eth, false},
	} {
		w.in.Facts.Networks = []facts.Network{c.network, eth}
		w.in.Needs.Stack.Networks = []string{facts.InfiniBand, facts.EFA}
		w.env = map[string]string{c.variable: c.value}
		if c.warns {
			w.want("ucx-settings", preflight.Warn, c.variable+"="+c.value, "over TCP")
		} else {
			w.none("ucx-settings")
		}
	}
}

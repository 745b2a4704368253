package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// ucxNames are the names that UCX_TLS has for transports of networks, by kind of what
// they need; from openucx/ucx src/ucp/core/ucp_context.c, as of 2026-11.
var ucxNames = []struct {
	kinds []string
	names []string
}{
	{[]string{facts.InfiniBand, facts.RoCE, facts.Slingshot10},
		[]string{"ib", "rc", "rc_v", "rc_x", "rc_verbs", "rc_mlx5", "ud", "ud_v", "ud_x", "ud_verbs", "ud_mlx5", "dc", "dc_x", "dc_mlx5"}},
	{[]string{facts.EFA}, []string{"ib", "srd"}},
}

// ucxSettings: what the user has set leaves UCX a transport, and a device, of the
// node's fabric.
func ucxSettings(_ context.Context, in *Input) ([]Finding, error) {
	if in.Facts == nil || in.Needs == nil || in.Needs.Stack.Family != stack.UCX {
		return nil, nil
	}
	var native []facts.Network
	for _, n := range in.fabrics() {
		if n.Active && slices.Contains(in.Needs.Stack.Networks, n.Kind) {
			native = append(native, n)
		}
	}
	if len(native) == 0 {
		return nil, nil
	}
	var out []Finding
	if tls, ok := in.lookup("UCX_TLS"); ok && !leavesTransport(tls, kindsOf(native)) {
		out = append(out, in.network(Finding{ID: "ucx-settings", Level: Warn, Act: User,
			Evidence: fmt.Sprintf("UCX_TLS=%s leaves UCX no transport for %s: it would run over TCP", tls, describe(native[0])),
			Next:     "unset UCX_TLS, or add rc (srd on EFA) to it"}))
	}
	if devices, ok := in.lookup("UCX_NET_DEVICES"); ok && !leavesDevice(devices, native) {
		out = append(out, in.network(Finding{ID: "ucx-settings", Level: Warn, Act: User,
			Evidence: fmt.Sprintf("UCX_NET_DEVICES=%s leaves UCX none of the node's devices, such as %s: it would run over TCP, or not at all", devices, describe(native[0])),
			Next:     "unset UCX_NET_DEVICES: UCX finds the best devices by itself"}))
	}
	return out, nil
}

// leavesTransport: a list of transports, or with ^ of those that are not to be used, has
// one for a kind of network.
func leavesTransport(list string, kinds []string) bool {
	list, negative := strings.CutPrefix(list, "^")
	words := strings.Split(list, ",")
	for i, w := range words {
		words[i], _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(w), "\\"), ":") // :aux, for an auxiliary one
	}
	if !negative && slices.Contains(words, "all") {
		return true
	}
	for _, u := range ucxNames {
		if !slices.ContainsFunc(u.kinds, func(k string) bool { return slices.Contains(kinds, k) }) {
			continue
		}
		named := func(n string) bool { return slices.Contains(words, n) }
		switch {
		case !negative:
			if slices.ContainsFunc(u.names, named) {
				return true
			}
		case named("all") || named("ib"):
		case slices.Contains(u.names, "srd"):
			if !named("srd") {
				return true
			}
		default:
			for _, sort := range []string{"rc", "ud", "dc"} { // each is gone if all of it is
				if !named(sort) && (sort == "dc" && !named("dc_x") && !named("dc_mlx5") ||
					sort != "dc" && !(anyOf(words, sort+"_v", sort+"_verbs") && anyOf(words, sort+"_x", sort+"_mlx5"))) {
					return true
				}
			}
		}
	}
	return false
}

func anyOf(words []string, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(words, n) })
}

// leavesDevice: a list of devices, or with ^ of those that are not to be used, has one
// of the networks.
func leavesDevice(list string, networks []facts.Network) bool {
	list, negative := strings.CutPrefix(list, "^")
	for _, n := range networks {
		named := false
		for w := range strings.SplitSeq(list, ",") {
			w = strings.TrimSpace(w)
			device, port, _ := strings.Cut(w, ":")
			is, err := path.Match(device, n.Device)
			if w == "all" || (is || err != nil && device == n.Device) && (port == "" || n.Port == 0 || port == fmt.Sprint(n.Port)) {
				named = true
			}
		}
		if named != negative {
			return true
		}
	}
	return false
}

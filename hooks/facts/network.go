package facts

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// networkSource reads one class of devices. It leaves in taken the network
// interfaces that belong to its devices.
type networkSource func(t tree, taken map[string]bool) ([]Network, []string)

// networkSources in order: what an earlier one took is no plain Ethernet.
var networkSources = []networkSource{readCXI, readRDMA, readEthernet}

// kindOrder has fabrics before Ethernet: the order of kinds with equal rates.
var kindOrder = []string{Slingshot11, InfiniBand, OmniPath, Slingshot10, EFA, RoCE, Ethernet}

// readNetworks asks all sources.
func readNetworks(_ context.Context, h host) part {
	var all []Network
	var problems []string
	taken := make(map[string]bool)
	for _, source := range networkSources {
		n, p := source(h.tree, taken)
		all = append(all, n...)
		problems = append(problems, p...)
	}
	sortNetworks(all)
	return part{set: func(f *Facts) { f.Networks = all }, problems: problems}
}

func sortNetworks(list []Network) {
	slices.SortStableFunc(list, func(a, b Network) int {
		return cmp.Or(
			cmp.Compare(boolInt(a.Kind == Ethernet), boolInt(b.Kind == Ethernet)),
			cmp.Compare(b.Rate, a.Rate),
			cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind)),
			cmp.Compare(a.Device, b.Device),
			cmp.Compare(a.Port, b.Port),
		)
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// trouble collects why a network is not usable.
type trouble []string

func (t *trouble) add(s string) {
	if s != "" {
		*t = append(*t, s)
	}
}

// barred is what a device node's problem makes of a network that has none else.
func (t trouble) barred(missing bool) string {
	switch {
	case len(t) != 1:
		return ""
	case missing:
		return Missing
	}
	return Closed
}

func (t trouble) text() string { return strings.Join(t, "; ") }

// maxRate in Gbit/s: more is a file that lies.
const maxRate = 100_000

// parseRate reads "200 Gb/sec (4X HDR)"; 0 = it is none.
func parseRate(s string) float64 {
	number, unit, _ := strings.Cut(strings.TrimSpace(s), " ")
	if !strings.HasPrefix(unit, "Gb/sec") {
		return 0
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0 && v <= maxRate) {
		return 0
	}
	return v
}

// parseSpeed reads an interface's speed, Mbit/s, as Gbit/s; 0 = it tells none (-1
// where the link is down, and virtual devices have no speed).
func parseSpeed(s string) float64 {
	v, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || v <= 0 || v > maxRate*1000 {
		return 0
	}
	return float64(v) / 1000
}

// interfaceUp: a network interface carries data.
func interfaceUp(t tree, name string) (bool, string) {
	state, err := t.value("/sys/class/net/" + name + "/operstate")
	switch {
	case err != nil:
		return false, err.Error()
	case state == "up":
		return true, ""
	case state == "unknown": // of drivers that do not tell: then the carrier does
		if carrier, err := t.value("/sys/class/net/" + name + "/carrier"); err == nil && carrier == "1" {
			return true, ""
		}
	}
	return false, name + " is " + state
}

func interfaceRate(t tree, name string) float64 {
	speed, err := t.value("/sys/class/net/" + name + "/speed") // EINVAL while it is down
	if err != nil {
		return 0
	}
	return parseSpeed(speed)
}

// NetworkKinds are all kinds of networks, fabrics before Ethernet.
func NetworkKinds() []string { return slices.Clone(kindOrder) }

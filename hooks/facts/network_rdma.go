package facts

import (
	"fmt"
	"strconv"
	"strings"
)

const rdmaClass = "/sys/class/infiniband"

// amazon is the PCI vendor of EFA.
const amazon = "0x1d0f"

// readRDMA reads what the kernel calls InfiniBand devices: InfiniBand itself,
// RoCE, EFA, Omni-Path and Slingshot-10. Of a port only link_layer, state and
// rate are read: other attributes fail, or fill the kernel's log, on some devices.
func readRDMA(t tree, taken map[string]bool) (all []Network, problems []string) {
	devices, err := t.list(rdmaClass)
	if err != nil {
		return nil, []string{err.Error()}
	}
	verbs := verbsNodes(t)
	for _, dev := range devices {
		d := rdmaDevice{name: dev, driver: t.linkName(rdmaClass + "/" + dev + "/device/driver")}
		if d.vendor, err = t.value(rdmaClass + "/" + dev + "/device/vendor"); err != nil {
			d.vendor = "" // the driver's name says as much
		}
		if nets, err := t.list(rdmaClass + "/" + dev + "/device/net"); err == nil {
			d.nets = nets
		}
		if !t.exists(rdmaClass + "/" + dev + "/device") {
			problems = append(problems, dev+" is a device of software: its network counts, not it")
			continue
		}
		n, p := readPorts(t, d, verbs[dev])
		problems = append(problems, p...)
		if len(n) == 0 {
			continue
		}
		all = append(all, n...)
		for _, net := range d.nets {
			taken[net] = true
		}
	}
	return all, problems
}

// rdmaDevice is one device of the class.
type rdmaDevice struct {
	name, driver, vendor string
	// nets are its network interfaces.
	nets []string
}

func readPorts(t tree, d rdmaDevice, verbs string) (all []Network, problems []string) {
	dir := rdmaClass + "/" + d.name + "/ports"
	ports, err := t.list(dir)
	if err != nil {
		return nil, []string{err.Error()}
	}
	if len(ports) == 0 {
		return nil, []string{d.name + " has no ports"}
	}
	for _, p := range ports {
		port, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s has a port named %q", d.name, p))
			continue
		}
		n := Network{Device: d.name}
		if len(ports) > 1 {
			n.Port = int(port)
		}
		var bad trouble
		layer, err := t.value(dir + "/" + p + "/link_layer")
		if err != nil {
			bad.add(err.Error())
		}
		if n.Kind = d.kind(layer); n.Kind == "" {
			problems = append(problems, fmt.Sprintf("%s (driver %s) is of no known kind: link layer %q%s", d.name, d.driver, layer, because(bad)))
			continue
		}
		if n.Kind == RoCE && d.isRNIC(t) {
			problems = append(problems, d.name+" is an iWARP device: its network is taken as Ethernet")
			continue
		}
		state, err := t.value(dir + "/" + p + "/state")
		switch {
		case err != nil:
			bad.add(err.Error())
		case !portActive(state):
			bad.add("its state is " + strconv.Quote(state))
		}
		if rate, err := t.value(dir + "/" + p + "/rate"); err != nil {
			// It carries data all the same.
			problems = append(problems, err.Error())
		} else if n.Rate = parseRate(rate); n.Rate == 0 {
			problems = append(problems, fmt.Sprintf("%s: the rate %q is none", d.name, rate))
		}
		node, linked := verbs, len(bad) == 0
		switch {
		case n.Kind == OmniPath:
			node = "/dev/" + d.name
		case node == "":
			bad.add("it has no node below /dev/infiniband (is ib_uverbs loaded?)")
		}
		if node != "" {
			bad.add(t.deviceProblem(node))
		}
		n.Active, n.Problem = len(bad) == 0, bad.text()
		if linked {
			n.Barred = bad.barred(node == "" || !t.exists(node))
		}
		all = append(all, n)
	}
	return all, problems
}

func because(t trouble) string {
	if len(t) == 0 {
		return ""
	}
	return ", " + t.text()
}

// kind of a device by its driver, its maker and its port's link layer; "" = none
// that is known.
func (d rdmaDevice) kind(layer string) string {
	switch {
	case d.driver == "hfi1" || strings.HasPrefix(d.name, "hfi1_"):
		return OmniPath
	case d.driver == "efa" || d.vendor == amazon:
		return EFA
	case layer == "InfiniBand":
		return InfiniBand
	case layer == "Ethernet":
		for _, net := range d.nets {
			if isHSN(net) {
				return Slingshot10
			}
		}
		return RoCE
	}
	return ""
}

// isRNIC: it speaks iWARP.
func (d rdmaDevice) isRNIC(t tree) bool {
	kind, err := t.value(rdmaClass + "/" + d.name + "/node_type")
	return err == nil && strings.HasSuffix(kind, "RNIC")
}

// portActive reads "4: ACTIVE".
func portActive(state string) bool {
	number, _, ok := strings.Cut(state, ":")
	return ok && strings.TrimSpace(number) == "4"
}

// verbsNodes are the device nodes by the names of their devices.
func verbsNodes(t tree) map[string]string {
	const class = "/sys/class/infiniband_verbs"
	nodes := make(map[string]string)
	names, err := t.list(class)
	if err != nil {
		return nodes // each device then says that it has none
	}
	for _, n := range names {
		if !strings.HasPrefix(n, "uverbs") {
			continue
		}
		if dev, err := t.value(class + "/" + n + "/ibdev"); err == nil {
			nodes[dev] = "/dev/infiniband/" + n
		}
	}
	return nodes
}

// isHSN: the name of an interface of Slingshot.
func isHSN(name string) bool { return strings.HasPrefix(name, "hsn") }

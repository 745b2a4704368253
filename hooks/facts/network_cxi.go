package facts

import "strings"

// readCXI reads Slingshot-11. Its link is that of the network interface of the
// same device.
func readCXI(t tree, taken map[string]bool) (all []Network, problems []string) {
	const class = "/sys/class/cxi"
	devices, err := t.list(class)
	if err != nil {
		return nil, []string{err.Error()}
	}
	for _, dev := range devices {
		if !strings.HasPrefix(dev, "cxi") {
			continue
		}
		n := Network{Kind: Slingshot11, Device: dev}
		var bad trouble
		bad.add(t.deviceProblem("/dev/" + dev))
		closed := len(bad) > 0
		nets, err := t.list(class + "/" + dev + "/device/net")
		switch {
		case err != nil:
			bad.add(err.Error())
		case len(nets) == 0:
			bad.add("it has no network interface: the state of its link is not known")
		}
		if len(nets) > 0 {
			up, why := interfaceUp(t, nets[0])
			if !up {
				bad.add(why)
			}
			n.Rate = interfaceRate(t, nets[0])
		}
		for _, net := range nets {
			taken[net] = true
		}
		n.Active, n.Problem = len(bad) == 0, bad.text()
		if closed {
			n.Barred = bad.barred(!t.exists("/dev/" + dev))
		}
		all = append(all, n)
	}
	return all, problems
}

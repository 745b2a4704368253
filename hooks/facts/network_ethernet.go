package facts

// arphrdEther is the type of Ethernet interfaces.
const arphrdEther = "1"

// readEthernet reads the interfaces that no fabric took: those with hardware
// (virtual machines' too) and bonds of them; where there are none, as in a
// container, those that are up.
func readEthernet(t tree, taken map[string]bool) (all []Network, problems []string) {
	const class = "/sys/class/net"
	names, err := t.list(class)
	if err != nil {
		return nil, []string{err.Error()}
	}
	var virtual []Network
	for _, name := range names {
		dir := class + "/" + name
		if taken[name] {
			continue
		}
		kind, err := t.value(dir + "/type")
		if err != nil {
			// bonding_masters is a file beside the interfaces.
			if info, statErr := t.stat(dir); statErr != nil || info.IsDir() {
				problems = append(problems, err.Error())
			}
			continue
		}
		if kind != arphrdEther {
			continue // loopback, IP over InfiniBand, tunnels
		}
		n := Network{Kind: Ethernet, Device: name, Rate: interfaceRate(t, name)}
		n.Active, n.Problem = interfaceUp(t, name)
		if isHSN(name) {
			// Slingshot's interface whose device the fabric's own driver does not show.
			if n.Problem != "" {
				n.Problem += "; "
			}
			n.Problem += "an interface of Slingshot without a device for it (driver " + t.linkName(dir+"/device/driver") + ")"
		}
		switch {
		case t.exists(dir+"/device") || t.exists(dir+"/bonding"):
			all = append(all, n)
		case n.Active:
			virtual = append(virtual, n)
		}
	}
	if len(all) == 0 {
		all = virtual
	}
	return all, problems
}

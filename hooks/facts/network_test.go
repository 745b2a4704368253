package facts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// rdma is one device of /sys/class/infiniband as a tree has it.
func rdma(name, layer, state, rate string, number int) string {
	d := "/sys/class/infiniband/" + name
	return fmt.Sprintf("file %[1]s/ports/1/link_layer %[2]s\nfile %[1]s/ports/1/state %[3]s\nfile %[1]s/ports/1/rate %[4]s\n"+
		"file %[1]s/device/vendor 0x15b3\nfile /sys/class/infiniband_verbs/uverbs%[5]d/ibdev %[6]s\nfile /dev/infiniband/uverbs%[5]d\n", d, layer, state, rate, number, name)
}

func netdev(name, typ, state string, more ...string) string {
	d := "/sys/class/net/" + name
	return fmt.Sprintf("file %[1]s/type %[2]s\nfile %[1]s/operstate %[3]s\n", d, typ, state) + strings.Join(more, "\n") + "\n"
}

// kinds are the networks in order, those that are not active in brackets.
func kinds(f *facts.Facts) string {
	var list []string
	for _, n := range f.Networks {
		s := n.Kind + ":" + n.Device
		if n.Port > 0 {
			s += fmt.Sprintf("/%d", n.Port)
		}
		if !n.Active {
			s = "(" + s + ")"
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func TestNetworks(t *testing.T) {
	const active = "4: ACTIVE"
	for _, c := range []struct{ name, tree, want string }{
		{"none", "", ""},
		{"only the loopback", netdev("lo", "772", "unknown"), ""},
		{"fabrics before a faster Ethernet", rdma("mlx5_0", "InfiniBand", active, "100 Gb/sec (4X EDR)", 0) +
			netdev("eth0", "1", "up", "file /sys/class/net/eth0/speed 400000", "dir /sys/class/net/eth0/device"), "infiniband:mlx5_0 ethernet:eth0"},
		{"the fastest first", rdma("mlx5_0", "InfiniBand", active, "100 Gb/sec (4X EDR)", 0) + rdma("mlx5_1", "InfiniBand", active, "400 Gb/sec (4X NDR)", 1), "infiniband:mlx5_1 infiniband:mlx5_0"},
		{"two ports, one down", rdma("mlx4_0", "InfiniBand", active, "56 Gb/sec (4X FDR)", 0) +
			"file /sys/class/infiniband/mlx4_0/ports/2/link_layer InfiniBand\nfile /sys/class/infiniband/mlx4_0/ports/2/state 1: DOWN\nfile /sys/class/infiniband/mlx4_0/ports/2/rate 10 Gb/sec (4X)\n",
			"infiniband:mlx4_0/1 (infiniband:mlx4_0/2)"},
		{"being initialised", rdma("mlx5_0", "InfiniBand", "2: INIT", "100 Gb/sec", 0), "(infiniband:mlx5_0)"},
		{"no rate is no reason", rdma("mlx5_0", "InfiniBand", active, "", 0), "infiniband:mlx5_0"},
		{"iWARP is Ethernet", rdma("irdma0", "Ethernet", active, "25 Gb/sec (1X EDR)", 0) + "file /sys/class/infiniband/irdma0/node_type 4: RNIC\ndir /sys/class/infiniband/irdma0/device/net/eth0\n" +
			netdev("eth0", "1", "up", "dir /sys/class/net/eth0/device"), "ethernet:eth0"},
		{"RoCE of software is not there", rdma("rxe0", "Ethernet", active, "10 Gb/sec", 0) + "remove /sys/class/infiniband/rxe0/device\n" +
			netdev("eth0", "1", "up", "dir /sys/class/net/eth0/device"), "ethernet:eth0"},
		{"EFA by its maker", rdma("efa_0", "Unspecified", active, "100 Gb/sec", 0) + "file /sys/class/infiniband/efa_0/device/vendor 0x1d0f\n", "efa:efa_0"},
		{"Omni-Path without its node", rdma("hfi1_0", "InfiniBand", active, "100 Gb/sec", 0), "(omni-path:hfi1_0)"},
		{"a bond", netdev("bond0", "1", "up", "dir /sys/class/net/bond0/bonding") + netdev("eth0", "1", "down", "dir /sys/class/net/eth0/device"), "ethernet:bond0 (ethernet:eth0)"},
		{"a container's veth", netdev("eth0", "1", "up") + netdev("dummy0", "1", "down"), "ethernet:eth0"},
		{"IP over InfiniBand is no Ethernet", netdev("ib0", "32", "up", "dir /sys/class/net/ib0/device"), ""},
		{"a driver that does not tell, with a carrier", netdev("eth0", "1", "unknown", "dir /sys/class/net/eth0/device", "file /sys/class/net/eth0/carrier 1"), "ethernet:eth0"},
		{"cxi whose link is down", "dir /sys/class/cxi/cxi0/device/net/hsn0\nfile /dev/cxi0\n" + netdev("hsn0", "1", "down"), "(slingshot-11:cxi0)"},
		{"cxi that only root may open", "dir /sys/class/cxi/cxi0/device/net/hsn0\nfile /dev/cxi0\nmode 0600 /dev/cxi0\n" + netdev("hsn0", "1", "up"), "(slingshot-11:cxi0)"},
		{"a file beside the interfaces", "file /sys/class/net/bonding_masters bond0\n" + netdev("eth0", "1", "up", "dir /sys/class/net/eth0/device"), "ethernet:eth0"},
	} {
		f := read(t, x86+c.tree)
		if got := kinds(f); got != c.want {
			t.Errorf("%s: %s, want %s (%q)", c.name, got, c.want, f.Problems)
		}
		for _, n := range f.Networks {
			if !n.Active && n.Problem == "" {
				t.Errorf("%s: %s is not active, and nothing says why", c.name, n.Device)
			}
			if n.Active && n.Problem != "" {
				t.Errorf("%s: %s is active with %q", c.name, n.Device, n.Problem)
			}
		}
	}
}

// TestDeviceModes: a node's users are everyone, or a group that is not root's.
func TestDeviceModes(t *testing.T) {
	root := tree(t, x86+"dir /sys/class/cxi/cxi0/device/net/hsn0\nfile /dev/cxi0\n"+netdev("hsn0", "1", "up"))
	node := filepath.Join(root, "dev/cxi0")
	for _, c := range []struct {
		mode   os.FileMode
		gid    int
		active bool
	}{{0o666, 0, true}, {0o600, 0, false}, {0o644, 0, false}, {0o660, 0, false}, {0o660, 4711, true}, {0o640, 4711, false}} {
		if os.Geteuid() != 0 && c.gid != 0 {
			continue // only root can give it to that group
		}
		if os.Geteuid() == 0 {
			must(t, os.Chown(node, 0, c.gid))
		} else if c.mode == 0o660 {
			continue // its group is the user's own
		}
		must(t, os.Chmod(node, c.mode))
		f := facts.Read(t.Context(), root)
		if len(f.Networks) != 1 || f.Networks[0].Active != c.active {
			t.Errorf("mode %04o, group %d: %+v, want active %t", c.mode, c.gid, f.Networks, c.active)
		}
	}
}

// TestOneBadDevice: whatever is wrong with one device, the other one is read.
func TestOneBadDevice(t *testing.T) {
	good := rdma("mlx5_0", "InfiniBand", "4: ACTIVE", "200 Gb/sec (4X HDR)", 0)
	bad := rdma("mlx5_1", "InfiniBand", "4: ACTIVE", "200 Gb/sec (4X HDR)", 1)
	for _, attribute := range []string{"ports/1/link_layer", "ports/1/state", "ports/1/rate", "ports", "device/vendor"} {
		f := read(t, good+bad+"unreadable /sys/class/infiniband/mlx5_1/"+attribute+"\n")
		if !slices.ContainsFunc(f.Networks, func(n facts.Network) bool { return n.Device == "mlx5_0" && n.Active && n.Rate == 200 }) {
			t.Errorf("mlx5_1 without %s: %s", attribute, kinds(f))
		}
		told := hasProblem(f, "mlx5_1") || slices.ContainsFunc(f.Networks, func(n facts.Network) bool { return n.Device == "mlx5_1" && n.Problem != "" })
		if !told && attribute != "device/vendor" { // the link layer says it all
			t.Errorf("mlx5_1 without %s: nothing says so: %q", attribute, f.Problems)
		}
	}
}

// TestBarred: a link that is up, and a device node that is not there or not for users.
// Where the link is down that counts.
func TestBarred(t *testing.T) {
	const active, down = "4: ACTIVE", "1: DOWN"
	hsn := "dir /sys/class/cxi/cxi0/device/net/hsn0\n"
	for _, c := range []struct{ name, tree, want string }{
		{"as it should be", rdma("mlx5_0", "InfiniBand", active, "100 Gb/sec", 0), ""},
		{"the link is down", rdma("mlx5_0", "InfiniBand", down, "100 Gb/sec", 0) + "remove /dev/infiniband/uverbs0\n", ""},
		{"no node", rdma("mlx5_0", "InfiniBand", active, "100 Gb/sec", 0) + "remove /dev/infiniband/uverbs0\n", facts.Missing},
		{"ib_uverbs is not loaded", rdma("mlx5_0", "InfiniBand", active, "100 Gb/sec", 0) + "remove /sys/class/infiniband_verbs\n", facts.Missing},
		{"root's alone", rdma("mlx5_0", "InfiniBand", active, "100 Gb/sec", 0) + "mode 0600 /dev/infiniband/uverbs0\n", facts.Closed},
		{"cxi's node is missing", hsn + netdev("hsn0", "1", "up"), facts.Missing},
		{"cxi's node is root's", hsn + "file /dev/cxi0\nmode 0600 /dev/cxi0\n" + netdev("hsn0", "1", "up"), facts.Closed},
		{"cxi's link is down, too", hsn + netdev("hsn0", "1", "down"), ""},
	} {
		f := read(t, x86+c.tree)
		if len(f.Networks) != 1 || f.Networks[0].Barred != c.want || f.Networks[0].Active && c.want != "" {
			t.Errorf("%s: %+v, want %q", c.name, f.Networks, c.want)
		}
	}
}

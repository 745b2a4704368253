package selection

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// Setting is a variable for the tasks on a node, and why.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Because string `json:"because"`
	// Kept: the user has set the variable, and it stays as it is; Value is what it
	// would have got.
	Kept bool `json:"kept,omitempty"`
}

// Settings returns the variables that a choice needs on its network, and those of
// the site's rules, by the order in which they were thought of: what the site says
// comes before what is set otherwise. user is a lookup of the user's own
// variables, which are left alone; nil = there are none.
//
// bind are the devices that the task is bound to ("mlx5_0:1"); without them
// nothing is said about devices, since UCX finds the best ones by itself. No
// variable is invented: UCX warns about those that it does not know.
func (c *Choice) Settings(bind []string, user func(string) (string, bool)) []Setting {
	var out []Setting
	add := func(name, value, because string) {
		for _, s := range out {
			if s.Name == name {
				return
			}
		}
		s := Setting{Name: name, Value: value, Because: because}
		if user != nil {
			_, s.Kept = user(name)
		}
		out = append(out, s)
	}
	for _, s := range c.Site {
		add(s.Name, s.Value, "the site's rules")
	}
	for _, s := range networkSettings {
		if s.family == c.Family && s.network == c.Network && c.Native {
			add(s.name, s.value, s.because)
		}
	}
	if c.Family == stack.UCX && len(bind) > 0 {
		add("UCX_NET_DEVICES", strings.Join(bind, ","), fmt.Sprintf("the task is bound to %s", strings.Join(bind, ", ")))
	}
	return out
}

// networkSettings is what a family needs on a network that it drives.
var networkSettings = []struct {
	family               stack.Family
	network              string
	name, value, because string
}{
	// realm-gex-wrapper's own activation sets it, too; a conduit that a site built
	// without that package needs it all the same.
	{stack.GASNet, facts.Slingshot11, "FI_CXI_RDZV_THRESHOLD", "256", "GASNet-EX over libfabric's cxi sends more than 256 bytes by rendezvous"},
}

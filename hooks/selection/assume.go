package selection

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// Assume is the kind of a node that never told its facts: its architecture, and what
// Slurm's generic resources and features say. What they do not say is unknown, and
// fits. subdir is "" for a node that has never been up, of which Slurm does not know the
// architecture; then a feature may name it.
func Assume(subdir, gres string, features []string) Kind {
	if subdir == "" {
		for _, f := range features {
			if named := architectureWords[strings.ToLower(f)]; named != "" && subdir != "" && named != subdir {
				subdir = "" // they contradict each other
				break
			} else if named != "" {
				subdir = named
			}
		}
	}
	k := Kind{Subdir: subdir, Assumed: true, Networks: networksOf(features)}
	if model, ok := gpuOf(gres); ok {
		k.GPU = true
		k.Virtuals = append(k.Virtuals, requirement.Virtual{Name: "__cuda"}, requirement.Virtual{Name: "__cuda_arch"})
		if model != "" {
			k.Models = []string{model}
		}
	}
	return k.Sealed()
}

// gpuOf finds GPUs in a node's Gres ("gpu:h100:4(S:0-1),nvme:1"), and their type in
// capitals; "" where none is given.
func gpuOf(gres string) (model string, ok bool) {
	for _, item := range strings.Split(gres, ",") {
		fields := strings.Split(strings.SplitN(item, "(", 2)[0], ":")
		if fields[0] != "gpu" {
			continue
		}
		if len(fields) > 2 {
			return strings.ToUpper(fields[1]), true
		}
		return "", true
	}
	return "", false
}

// words in node features that name an architecture.
var architectureWords = map[string]string{
	"x86_64": "linux-64", "x86-64": "linux-64", "amd64": "linux-64",
	"aarch64": "linux-aarch64", "arm64": "linux-aarch64",
}

// words in node features, as sites write them, that name a network.
var networkWords = map[string]string{
	"ib": facts.InfiniBand, "infiniband": facts.InfiniBand, "edr": facts.InfiniBand, "hdr": facts.InfiniBand, "hdr100": facts.InfiniBand, "ndr": facts.InfiniBand,
	"roce": facts.RoCE, "efa": facts.EFA, "opa": facts.OmniPath, "omnipath": facts.OmniPath, "omni-path": facts.OmniPath,
	"slingshot": facts.Slingshot11, "slingshot11": facts.Slingshot11, "slingshot-11": facts.Slingshot11, "ss11": facts.Slingshot11, "cxi": facts.Slingshot11,
	"slingshot10": facts.Slingshot10, "slingshot-10": facts.Slingshot10, "ss10": facts.Slingshot10,
	"ethernet": facts.Ethernet, "eth": facts.Ethernet,
}

// networksOf are the networks that features name, in the order of facts.NetworkKinds.
func networksOf(features []string) (kinds []string) {
	for _, kind := range facts.NetworkKinds() {
		if slices.ContainsFunc(features, func(f string) bool { return networkWords[strings.ToLower(f)] == kind }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

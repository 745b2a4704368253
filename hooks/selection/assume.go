package selection

import (
	"strings"

	"github.com/hpcenv/hpcenv/envs/requirement"
)

// Assume is the kind of a node that never told its facts: its architecture, and what
// Slurm's generic resources and features say. What they do not say is unknown, and
// fits.
func Assume(subdir, gres string, features []string) Kind {
	k := Kind{Subdir: subdir, Assumed: true}
	if model, ok := gpuOf(gres); ok {
		k.GPU = true
		k.Virtuals = append(k.Virtuals, requirement.Virtual{Name: "__cuda"}, requirement.Virtual{Name: "__cuda_arch"})
		k.Label = model
	}
	return k
}

// gpuOf finds GPUs in a node's Gres ("gpu:h100:4(S:0-1),nvme:1"), and their type in
// capitals; "GPU" where none is given.
func gpuOf(gres string) (model string, ok bool) {
	for _, item := range strings.Split(gres, ",") {
		fields := strings.Split(strings.SplitN(item, "(", 2)[0], ":")
		if fields[0] != "gpu" {
			continue
		}
		if len(fields) > 2 {
			return strings.ToUpper(fields[1]), true
		}
		return "GPU", true
	}
	return "", false
}

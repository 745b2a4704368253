package facts

import (
	"github.com/hpcenv/hpcenv/envs/cuda"
)

// CUDAOf is the newest CUDA that a version of NVIDIA's driver serves, by its
// branch: major.minor; "" = the driver is older than the table, or no version. Of
// a driver newer than the table it is the newest in it, which that driver serves
// too.
func CUDAOf(driver string) string {
	v, ok := cuda.Default().Serves(driver)
	if !ok {
		return ""
	}
	return v.String()
}

// computeOf is a model's compute capability; "" = not known.
func computeOf(model string) string { return cuda.Default().ComputeOf(model) }

// lowestCompute over all models; "" if one of them is not known.
func lowestCompute(list []Model) string {
	var all []string
	for _, m := range list {
		all = append(all, computeOf(m.Name))
	}
	return LowestVersion(all)
}

// LowestVersion of versions that are major.minor; "" if one of them is none, or
// there are none.
func LowestVersion(list []string) string {
	var least [2]int
	text := ""
	for _, c := range list {
		n, ok := majorMinor(c)
		if !ok {
			return ""
		}
		if text == "" || less(n, least) {
			least, text = n, c
		}
	}
	return text
}

package facts

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// cudaText has the CUDA version of each branch of NVIDIA's driver, and the
// compute capability of models.
//
//go:embed cuda.txt
var cudaText string

// branch of the driver and the CUDA that it serves.
type branch struct {
	number int
	cuda   string
}

// capability of GPUs whose model has the words.
type capability struct {
	words   []string
	compute string
}

var cudaTables = sync.OnceValues(func() (branches []branch, caps []capability) {
	for line := range strings.Lines(cudaText) {
		w := strings.Fields(line)
		if len(w) < 3 {
			continue
		}
		switch w[0] {
		case "branch":
			if n, err := strconv.Atoi(w[1]); err == nil { // a test reads every line
				branches = append(branches, branch{n, w[2]})
			}
		case "model":
			caps = append(caps, capability{w[2:], w[1]})
		}
	}
	slices.SortFunc(branches, func(a, b branch) int { return a.number - b.number })
	return branches, caps
})

// CUDAOf is the newest CUDA that a version of NVIDIA's driver serves, by its
// branch: major.minor; "" = the driver is older than the table, or no version. Of
// a driver newer than the table it is the newest in it, which that driver serves
// too.
func CUDAOf(driver string) string {
	if !isDriverVersion(driver) {
		return ""
	}
	number, err := strconv.Atoi(driver[:3])
	if err != nil {
		return ""
	}
	branches, _ := cudaTables()
	cuda := ""
	for _, b := range branches {
		if b.number <= number {
			cuda = b.cuda
		}
	}
	return cuda
}

// computeOf is a model's compute capability; "" = not known. Words of the table
// are words of the model's name, where - is a blank too; the entry with the most
// words counts.
func computeOf(model string) string {
	words := strings.Fields(strings.ReplaceAll(model, "-", " "))
	_, caps := cudaTables()
	best, compute := 0, ""
	for _, c := range caps {
		all := !slices.ContainsFunc(c.words, func(w string) bool { return !slices.Contains(words, w) })
		if all && len(c.words) > best {
			best, compute = len(c.words), c.compute
		}
	}
	return compute
}

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

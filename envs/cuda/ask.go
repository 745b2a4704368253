package cuda

import (
	"slices"
	"strings"
)

// Serves is the newest CUDA that a driver serves itself, by its branch; false = the
// driver is older than the table, or no version. Of a driver newer than the table it
// is the newest in it, which that driver serves too.
func (t *Table) Serves(driver string) (Version, bool) {
	d, ok := ParseDriver(driver)
	if !ok {
		return Version{}, false
	}
	var v Version
	found := false
	for _, k := range t.toolkits {
		if k.driver.Branch() <= d.Branch() {
			v, found = k.version, true
		}
	}
	return v, found
}

// Native is the first driver that serves a CUDA itself; false = the table does not
// know that CUDA.
func (t *Table) Native(v Version) (Driver, bool) {
	k := t.byVersion[v]
	if k == nil {
		return Driver{}, false
	}
	return k.driver, true
}

// Floor is the oldest driver that runs a family of CUDA (12 of 12.9), by minor-version
// compatibility; false = the table does not know the family.
func (t *Table) Floor(major int) (Driver, bool) {
	for _, f := range t.families {
		if f.major == major {
			return f.driver, true
		}
	}
	return Driver{}, false
}

// Before tells that a family is older than all that the table knows.
func (t *Table) Before(major int) bool { return major < t.families[0].major }

// MinCompute is the lowest compute capability that toolkits of a family make code for;
// false = the table does not know the family.
func (t *Table) MinCompute(major int) (Version, bool) {
	if _, known := t.Floor(major); !known {
		return Version{}, false
	}
	for _, c := range t.computes {
		if c.last == 0 || c.last >= major {
			return c.version, true
		}
	}
	return Version{}, false
}

// GPU is what is known of a compute capability.
type GPU struct {
	// Architecture as NVIDIA calls it; First is the first CUDA with code for it.
	Architecture string
	First        Version
	// LastFamily of CUDA with code for it, LastBranch of the driver that serves it; 0 =
	// there is no last one yet.
	LastFamily, LastBranch int
}

// Of a compute capability; false = the table does not have it.
func (t *Table) Of(v Version) (GPU, bool) {
	for _, c := range t.computes {
		if c.version == v {
			return GPU{Architecture: c.name, First: c.first, LastFamily: c.last, LastBranch: c.branch}, true
		}
	}
	return GPU{}, false
}

// ComputeOf is a model's compute capability; "" = not known. Words of the table are
// words of the model's name, where - is a blank too; the entry with the most words
// counts.
func (t *Table) ComputeOf(name string) string {
	if m := t.find(name); m != nil {
		return m.compute
	}
	return ""
}

func (t *Table) find(name string) *model {
	words := strings.Fields(strings.ReplaceAll(name, "-", " "))
	var best *model
	for i := range t.models {
		m := &t.models[i]
		all := !slices.ContainsFunc(m.words, func(w string) bool { return !slices.Contains(words, w) })
		if all && (best == nil || len(m.words) > len(best.words)) {
			best = m
		}
	}
	return best
}

// Forward tells whether cuda-compat of a version runs on a node with this driver and
// these GPUs by the names of their models (none = not known): forward compatibility is
// for data-center GPUs and some others, over kernel drivers of some branches. A driver
// that is not older than the package serves its CUDA without it.
func (t *Table) Forward(version Version, driver string, gpus []string) Answer {
	d, ok := ParseDriver(driver)
	if !ok {
		return Unknown
	}
	answer := Unknown
	if i := slices.IndexFunc(t.compats, func(c compat) bool { return c.version == version }); i >= 0 {
		if answer = No; slices.Contains(t.compats[i].branches, d.Branch()) {
			answer = Yes
		}
	}
	if answer == No {
		return No
	}
	return min3(answer, t.forwardGPUs(gpus))
}

// ForwardGPU tells whether forward compatibility is for all of these models; the name
// is the first that it is not for, or, if that is not known, the first such.
func (t *Table) ForwardGPU(gpus []string) (Answer, string) {
	unknown := ""
	for _, name := range gpus {
		class := Unknown
		if m := t.find(name); m != nil {
			class = m.class
		} else if strings.Contains(name, "GeForce") {
			class = No
		}
		switch {
		case class == No:
			return No, name
		case class == Unknown && unknown == "":
			unknown = name
		}
	}
	if unknown != "" || len(gpus) == 0 {
		return Unknown, unknown
	}
	return Yes, ""
}

func (t *Table) forwardGPUs(gpus []string) Answer {
	a, _ := t.ForwardGPU(gpus)
	return a
}

// min3 of answers: No before Unknown before Yes.
func min3(a, b Answer) Answer {
	switch {
	case a == No || b == No:
		return No
	case a == Unknown || b == Unknown:
		return Unknown
	}
	return Yes
}

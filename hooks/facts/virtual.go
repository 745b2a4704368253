package facts

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/requirement"
)

// Virtuals are the node's virtual packages (CEP 30, CEP 46), sorted by name.
// lookup is an environment (os.LookupEnv): CONDA_OVERRIDE_{CUDA, CUDA_ARCH,
// GLIBC, LINUX, ARCHSPEC} replace a version (of ARCHSPEC the name) or, where they
// are empty, take the package away; nil overrides nothing. Values are passed on as
// they are: it is the judge of a requirement who says that one is no version.
func Virtuals(f *Facts, lookup func(string) (string, bool)) []requirement.Virtual {
	var list []requirement.Virtual
	put := func(name, override, version, build string) bool {
		if value, ok := overridden(lookup, override); ok {
			version = value
		}
		if version == "" {
			return false
		}
		list = append(list, requirement.Virtual{Name: name, Version: version, Build: build})
		return true
	}
	put("__unix", "", "0", "0")
	put("__linux", "LINUX", linuxVersion(f.Kernel), "0")
	put("__glibc", "GLIBC", f.Glibc, "0")
	cuda, compute := "", ""
	if f.GPU != nil && f.GPU.Vendor == "nvidia" {
		cuda, compute = f.GPU.CUDA, f.GPU.Compute
	}
	// Without __cuda there is no __cuda_arch either.
	if put("__cuda", "CUDA", cuda, "0") {
		put("__cuda_arch", "CUDA_ARCH", compute, "0")
	}
	// Of archspec the build says which, and the version only whether it is known.
	name, version := f.CPU.Name, "1"
	if name == "" {
		name, version = f.Machine, "0"
	}
	if value, ok := overridden(lookup, "ARCHSPEC"); ok {
		name, version = value, "1"
	}
	if name != "" {
		list = append(list, requirement.Virtual{Name: "__archspec", Version: version, Build: name})
	}
	slices.SortFunc(list, func(a, b requirement.Virtual) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// overridden asks for a variable of the standard's; ok = it is set.
func overridden(lookup func(string) (string, bool), name string) (value string, ok bool) {
	if lookup == nil || name == "" {
		return "", false
	}
	value, ok = lookup("CONDA_OVERRIDE_" + name)
	return strings.TrimSpace(value), ok
}

// linuxVersion is up to four numbers at the beginning of a kernel's release.
func linuxVersion(release string) string {
	var parts []string
	for p := range strings.SplitSeq(release, ".") {
		digits := p[:len(p)-len(strings.TrimLeft(p, "0123456789"))]
		if digits != "" && len(parts) < 4 {
			parts = append(parts, digits)
		}
		if digits != p || digits == "" {
			break
		}
	}
	return strings.Join(parts, ".")
}

// VirtualAncestors are the microarchitectures whose packages the node runs: those
// of its processor, or of the one that CONDA_OVERRIDE_ARCHSPEC names; of a name
// that archspec does not know, itself.
func VirtualAncestors(f *Facts, lookup func(string) (string, bool)) []string {
	value, ok := overridden(lookup, "ARCHSPEC")
	switch {
	case !ok:
		return f.CPU.Ancestors
	case value == "":
		return nil
	}
	if list := Ancestors(value); list != nil {
		return list
	}
	return []string{value}
}

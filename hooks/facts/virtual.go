package facts

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/requirement"
)

// Virtuals are the node's virtual packages (CEP 30, CEP 46), sorted by name, as
// Override changes them.
func Virtuals(f *Facts, lookup func(string) (string, bool)) []requirement.Virtual {
	var list []requirement.Virtual
	put := func(name, version, build string) {
		if version != "" {
			list = append(list, requirement.Virtual{Name: name, Version: version, Build: build})
		}
	}
	// Of one without a version the judges of requirements know that it is there, and no
	// more: an overloaded node is not one without a C library.
	unread := func(name, reader string) bool {
		if !f.unanswered(reader) {
			return false
		}
		list = append(list, requirement.Virtual{Name: name})
		return true
	}
	// Of archspec the build says which, and the version only whether it is known.
	if f.CPU.Name != "" {
		put("__archspec", "1", f.CPU.Name)
	} else if unread("__archspec", "processor") {
		// nothing more is known
	} else if f.Machine != "" {
		put("__archspec", "0", f.Machine)
	}
	// Without __cuda there is no __cuda_arch either.
	if f.GPU != nil && f.GPU.Vendor == "nvidia" && f.GPU.CUDA != "" {
		put("__cuda", f.GPU.CUDA, "0")
		put("__cuda_arch", f.GPU.Compute, "0")
	}
	if f.Glibc != "" || !unread("__glibc", "glibc") {
		put("__glibc", f.Glibc, "0")
	}
	if f.Kernel != "" || !unread("__linux", "kernel") {
		put("__linux", linuxVersion(f.Kernel), "0")
	}
	put("__unix", "0", "0")
	return Override(list, lookup)
}

// overridable are the virtual packages that have a variable of the standard's:
// CONDA_OVERRIDE_ and their name in capitals.
var overridable = []string{"__archspec", "__cuda", "__cuda_arch", "__glibc", "__linux"}

// OverrideVariables are the variables that Override looks at, sorted.
func OverrideVariables() []string {
	var names []string
	for _, v := range overridable {
		names = append(names, overrideVariable(v))
	}
	return names
}

func overrideVariable(virtual string) string {
	return "CONDA_OVERRIDE_" + strings.ToUpper(strings.TrimPrefix(virtual, "__"))
}

// Override returns virtual packages, sorted by name, as the variables of an environment
// (lookup is os.LookupEnv) change them: CONDA_OVERRIDE_{CUDA, CUDA_ARCH, GLIBC, LINUX,
// ARCHSPEC} replace a version (of ARCHSPEC the name) or, where they are empty, take the
// package away; nil changes nothing. Values are passed on as they are: it is the judge
// of a requirement who says that one is no version.
func Override(list []requirement.Virtual, lookup func(string) (string, bool)) []requirement.Virtual {
	list = slices.Clone(list)
	for _, name := range overridable {
		value, ok := overridden(lookup, name)
		if !ok {
			continue
		}
		list = without(list, name)
		switch {
		case value == "":
		case name == "__archspec":
			list = append(list, requirement.Virtual{Name: name, Version: "1", Build: value})
		default:
			list = append(list, requirement.Virtual{Name: name, Version: value, Build: "0"})
		}
	}
	if !slices.ContainsFunc(list, func(v requirement.Virtual) bool { return v.Name == "__cuda" }) {
		list = without(list, "__cuda_arch")
	}
	slices.SortFunc(list, func(a, b requirement.Virtual) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func without(list []requirement.Virtual, name string) []requirement.Virtual {
	return slices.DeleteFunc(list, func(v requirement.Virtual) bool { return v.Name == name })
}

// overridden asks for a virtual package's variable; ok = it is set.
func overridden(lookup func(string) (string, bool), name string) (value string, ok bool) {
	if lookup == nil {
		return "", false
	}
	value, ok = lookup(overrideVariable(name))
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

// OverrideAncestors returns the microarchitectures whose packages a node runs: its own
// ones, or those of the one that CONDA_OVERRIDE_ARCHSPEC names; of a name that archspec
// does not know, itself.
func OverrideAncestors(own []string, lookup func(string) (string, bool)) []string {
	value, ok := overridden(lookup, "__archspec")
	switch {
	case !ok:
		return own
	case value == "":
		return nil
	}
	if list := Ancestors(value); list != nil {
		return list
	}
	return []string{value}
}

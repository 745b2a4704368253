package activation

import (
	"sort"
	"strings"
)

// volatile tells variables that a shell keeps for itself, and our own marker:
// no difference in them is part of an activation. Exported functions are shell
// code that bash prints in a form of its own; they are left as they are.
func volatile(name string) bool {
	switch name {
	case "_", "SHLVL", "PWD", "OLDPWD", "SHELLOPTS", "BASHOPTS", MarkerName, UndoName, ShadowName:
		return true
	}
	return strings.HasPrefix(name, "BASH_FUNC_")
}

// listSep says by which separator a variable is a list; "" = it is not one.
func listSep(name string) string {
	switch name {
	case "CFLAGS", "CXXFLAGS", "CPPFLAGS", "FFLAGS", "FCFLAGS", "LDFLAGS", "LDFLAGS_LD",
		"DEBUG_CFLAGS", "DEBUG_CXXFLAGS", "DEBUG_CPPFLAGS", "DEBUG_FFLAGS", "NVCC_PREPEND_FLAGS",
		"NVCC_APPEND_FLAGS", "CMAKE_ARGS", "MESON_ARGS", "RUSTFLAGS":
		return " "
	case "LD_PRELOAD", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "MANPATH", "INFOPATH", "CDPATH":
		return ":"
	}
	if strings.HasSuffix(name, "PATH") || strings.HasSuffix(name, "PATHS") || strings.HasSuffix(name, "_DIRS") {
		return ":"
	}
	return ""
}

// Diff returns the patch that turns before into after, sorted by name. Changes
// of list variables that only put elements before or after the old ones become
// prepend and append. What shells keep for themselves (_, SHLVL, PWD, OLDPWD,
// exported functions) is left out.
func Diff(before, after []string) Patch {
	return diffEnviron(parseEnviron(before), parseEnviron(after))
}

func diffEnviron(b, a *environ) Patch {
	names := make([]string, 0, len(a.names)+len(b.names))
	names = append(names, a.names...)
	for _, n := range b.names {
		if _, ok := a.vals[n]; !ok {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	var p Patch
	for _, n := range names {
		if volatile(n) {
			continue
		}
		old, had := b.vals[n]
		val, has := a.vals[n]
		switch {
		case had && has && old == val:
		case !has:
			p.Ops = append(p.Ops, Op{Kind: OpUnset, Name: n})
		default:
			p.Ops = append(p.Ops, diffValue(n, old, had, val)...)
		}
	}
	return p
}

func diffValue(name, old string, had bool, val string) []Op {
	set := []Op{{Kind: OpSet, Name: name, Value: val}}
	sep := listSep(name)
	if sep == "" || val == "" {
		return set
	}
	if !had || old == "" {
		return []Op{{Kind: OpPrepend, Name: name, Value: val, Sep: sep}}
	}
	// The old list must be found whole, between separators or ends.
	for from := 0; from+len(old) <= len(val); {
		i := strings.Index(val[from:], old)
		if i < 0 {
			break
		}
		i += from
		pre, post := val[:i], val[i+len(old):]
		preOK := pre == "" || (strings.HasSuffix(pre, sep) && pre != sep)
		postOK := post == "" || (strings.HasPrefix(post, sep) && post != sep)
		if preOK && postOK {
			var ops []Op
			if pre != "" {
				ops = append(ops, Op{Kind: OpPrepend, Name: name, Value: strings.TrimSuffix(pre, sep), Sep: sep})
			}
			if post != "" {
				ops = append(ops, Op{Kind: OpAppend, Name: name, Value: strings.TrimPrefix(post, sep), Sep: sep})
			}
			return ops
		}
		from = i + 1
	}
	return set
}

// Final returns the patch from before to after as set and unset with final
// values, sorted by name: what a process applies without knowing of lists. In
// contrast to Diff it leaves nothing out.
func Final(before, after []string) Patch {
	b, a := parseEnviron(before), parseEnviron(after)
	var p Patch
	for _, n := range a.names {
		if old, had := b.vals[n]; !had || old != a.vals[n] {
			p.Ops = append(p.Ops, Op{Kind: OpSet, Name: n, Value: a.vals[n]})
		}
	}
	for _, n := range b.names {
		if _, has := a.vals[n]; !has {
			p.Ops = append(p.Ops, Op{Kind: OpUnset, Name: n})
		}
	}
	sort.SliceStable(p.Ops, func(i, j int) bool { return p.Ops[i].Name < p.Ops[j].Name })
	return p
}

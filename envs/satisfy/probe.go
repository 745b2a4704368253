package satisfy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// probes are the surroundings in which demands are compared: extras, Pythons that
// fit and platforms, as far as any condition asks. Two conditions that hold in the
// same of them may still differ elsewhere; two that do not, differ.
func probes(pythons version.Set, lists ...[]*demand) []*marker.Environment {
	extras, text := []string{""}, map[string]bool{}
	var all strings.Builder
	for _, list := range lists {
		for _, d := range list {
			if d.extra != "" && !slices.Contains(extras, d.extra) {
				extras = append(extras, d.extra)
			}
			for _, m := range d.markers {
				if t := m.String(); !text[t] {
					text[t] = true
					all.WriteString(t + "\n")
				}
			}
		}
	}
	conditions := all.String()
	for _, m := range extraNames().FindAllStringSubmatch(conditions, -1) {
		if e := m[1] + m[2]; !slices.Contains(extras, e) {
			extras = append(extras, e)
		}
	}
	platforms := machines
	if !strings.Contains(conditions, "platform") && !strings.Contains(conditions, "os_name") && !strings.Contains(conditions, "implementation") {
		platforms = machines[:1]
	}
	versions := versionsOf(conditions, pythons)
	out := make([]*marker.Environment, 0, len(extras)*len(platforms)*len(versions))
	for _, e := range extras {
		for _, on := range platforms {
			for _, v := range versions {
				p := on
				p.PythonFullVersion, p.ImplementationVersion = v, v
				p.PythonVersion = strings.Join(strings.SplitN(v, ".", 3)[:2], ".")
				if e != "" {
					p.Extras = []string{e}
				}
				out = append(out, &p)
			}
		}
	}
	return out
}

// extraNames finds extras that conditions ask for.
var extraNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`extra == ["']([^"']+)["']|["']([^"']+)["'] == extra`)
})

// machines are platforms that there are: no condition is looked at where no machine
// can be.
var machines = []marker.Environment{
	machine("linux", "Linux", "posix", "x86_64", "cpython", "CPython"),
	machine("linux", "Linux", "posix", "aarch64", "cpython", "CPython"),
	machine("linux", "Linux", "posix", "x86_64", "pypy", "PyPy"),
	machine("darwin", "Darwin", "posix", "arm64", "cpython", "CPython"),
	machine("darwin", "Darwin", "posix", "x86_64", "cpython", "CPython"),
	machine("win32", "Windows", "nt", "AMD64", "cpython", "CPython"),
}

func machine(sys, system, os, machine, implementation, python string) marker.Environment {
	return marker.Environment{SysPlatform: sys, PlatformSystem: system, OSName: os, PlatformMachine: machine,
		ImplementationName: implementation, PlatformPythonImplementation: python}
}

// newestMinor is beyond what any Python has; conditions are looked at up to it.
const newestMinor = 20

var numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b3\.(\d{1,3})(?:\.(\d{1,3}))?`) })

// versionsOf are the Pythons to look at: each minor one, and what conditions name,
// as far as they fit. One is enough where no condition asks.
func versionsOf(conditions string, pythons version.Set) []string {
	var all [][2]int
	for minor := range newestMinor {
		all = append(all, [2]int{minor, 0}, [2]int{minor, 40})
	}
	for _, m := range numbers().FindAllStringSubmatch(conditions+" "+pythons.String(), -1) {
		minor, err := strconv.Atoi(m[1])
		micro, err2 := strconv.Atoi("0" + m[2])
		if err != nil || err2 != nil {
			continue // three digits are numbers
		}
		all = append(all, [2]int{minor, max(micro-1, 0)}, [2]int{minor, micro}, [2]int{minor, micro + 1})
	}
	texts := make([]string, 0, len(all)+1)
	for _, v := range all {
		texts = append(texts, "3."+strconv.Itoa(v[0])+"."+strconv.Itoa(v[1]))
	}
	var out []string
	for _, text := range append(texts, "4.0.0") {
		parsed, err := version.Parse(text)
		if err == nil && pythons.Contains(parsed) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if len(out) > 0 && !strings.Contains(conditions, "python") && !strings.Contains(conditions, "version") {
		out = out[:1]
	}
	return out
}

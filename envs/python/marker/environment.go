package marker

import "strings"

// Environment is what markers ask about. A value "" of PlatformRelease and
// PlatformVersion means that it is not known.
type Environment struct {
	ImplementationName           string // "cpython"
	ImplementationVersion        string // "3.12.4"
	OSName                       string // "posix"
	PlatformMachine              string // "x86_64", "aarch64"
	PlatformPythonImplementation string // "CPython"
	PlatformRelease              string
	PlatformSystem               string // "Linux"
	PlatformVersion              string
	PythonFullVersion            string // "3.12.4"
	PythonVersion                string // "3.12"
	SysPlatform                  string // "linux"

	// Extras that were asked for, normalized: the variables `extra` (as in core
	// metadata and in uv's locks) and `extras` (PEP 751).
	Extras []string
	// DependencyGroups that were asked for, normalized: `dependency_groups`
	// (PEP 751).
	DependencyGroups []string
}

// variable is the name of something that a marker asks about.
type variable string

const (
	extra            variable = "extra"
	extras           variable = "extras"
	dependencyGroups variable = "dependency_groups"
)

// canonical gives every name of a variable, the old ones of PEP 345 too.
var canonical = map[string]variable{
	"implementation_name": "implementation_name", "implementation_version": "implementation_version",
	"os_name": "os_name", "os.name": "os_name",
	"platform_machine": "platform_machine", "platform.machine": "platform_machine",
	"platform_python_implementation": "platform_python_implementation",
	"platform.python_implementation": "platform_python_implementation",
	"python_implementation":          "platform_python_implementation",
	"platform_release":               "platform_release",
	"platform_system":                "platform_system",
	"platform_version":               "platform_version", "platform.version": "platform_version",
	"python_full_version": "python_full_version", "python_version": "python_version",
	"sys_platform": "sys_platform", "sys.platform": "sys_platform",
	"extra": extra, "extras": extras, "dependency_groups": dependencyGroups,
}

// versioned: the variable is compared as a version where both sides are
// versions.
func (v variable) versioned() bool {
	switch v {
	case "implementation_version", "platform_release", "python_full_version", "python_version":
		return true
	}
	return false
}

// set: the variable is a set of names, of which only membership is asked.
func (v variable) set() bool { return v == extras || v == dependencyGroups }

// value of a variable that is no set and not `extra`; false = not known.
func (e *Environment) value(v variable) (string, bool) {
	switch v {
	case "implementation_name":
		return e.ImplementationName, true
	case "implementation_version":
		return e.ImplementationVersion, true
	case "os_name":
		return e.OSName, true
	case "platform_machine":
		return e.PlatformMachine, true
	case "platform_python_implementation":
		return e.PlatformPythonImplementation, true
	case "platform_release":
		return e.PlatformRelease, e.PlatformRelease != ""
	case "platform_system":
		return e.PlatformSystem, true
	case "platform_version":
		return e.PlatformVersion, e.PlatformVersion != ""
	case "python_full_version":
		// A Python built from a checkout says "3.13.0+", which is no version.
		if strings.HasSuffix(e.PythonFullVersion, "+") {
			return e.PythonFullVersion + "local", true
		}
		return e.PythonFullVersion, true
	case "python_version":
		return e.PythonVersion, true
	case "sys_platform":
		return e.SysPlatform, true
	}
	return "", false
}

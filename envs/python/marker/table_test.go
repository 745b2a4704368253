package marker_test

import (
	"errors"
	"testing"

	"github.com/hpcenv/hpcenv/envs/python/marker"
)

func TestEvaluate(t *testing.T) {
	env := &marker.Environment{
		ImplementationName: "cpython", ImplementationVersion: "3.12.4", OSName: "posix", PlatformMachine: "aarch64", PlatformPythonImplementation: "CPython",
		PlatformSystem: "Linux", PythonFullVersion: "3.12.4", PythonVersion: "3.12", SysPlatform: "linux", Extras: []string{"gpu", "extra-3-app-cpu"}, DependencyGroups: []string{"dev"},
	}
	for text, want := range map[string]bool{
		`python_version >= "3.9"`:                             true, // as versions, not as texts
		`python_full_version < '3.12.10'`:                     true,
		`"3.13" > python_version`:                             true,
		`python_version in "3.11 3.12"`:                       true,
		`sys_platform == "win32" or os.name == 'posix'`:       true,
		`sys_platform == "win32" and os_name == "posix"`:      false,
		`'arm' in platform_machine`:                           false,
		`extra == "GPU" and extra != "io"`:                    true,
		`extra == 'extra-3-app-cpu'`:                          true,
		`"gpu" in extras and 'docs' not in dependency_groups`: true,
		`(extra == "x" or python_implementation == "CPython") and platform_system == "Linux"`: true,
	} {
		m, err := marker.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Evaluate(env); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := (*marker.Marker)(nil).Evaluate(env); err != nil || !got {
		t.Errorf("no marker: %v, %v", got, err)
	}
	for _, text := range []string{"", "python_version", "python_version >=", "x == 'y'", "'a' == 'b'", "os_name == sys_platform", "os_name = 'x'", "os_name == 'x' and", "(os_name == 'x'", "os_name == 'x", "extras == 'x'", "extra in 'x'", "os_name ~= '1.0'", "python_version not '3'"} {
		if _, err := marker.Parse(text); !errors.Is(err, marker.ErrMarker) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

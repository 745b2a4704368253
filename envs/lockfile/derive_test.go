package lockfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// lock6 makes a lock of version 6 with one conda entry in default/linux-64.
func lock6(location, keys string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 6\nenvironments:\n  default:\n    channels:\n    - url: https://conda.example/main/\n    packages:\n      linux-64:\n      - conda: %q\npackages:\n- conda: %q\n", location, location)
	for _, line := range strings.Split(keys, "\n") {
		if line != "" {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

func lock7(location, keys string) string {
	return strings.Replace(lock6(location, keys), "version: 6\n", "version: 7\nplatforms:\n- name: linux-64\n", 1)
}

// both runs a test for version 6 and version 7.
func both(t *testing.T, run func(t *testing.T, lock func(location, keys string) string)) {
	t.Run("v6", func(t *testing.T) { run(t, lock6) })
	t.Run("v7", func(t *testing.T) { run(t, lock7) })
}

func onlyPackage(t *testing.T, text string) *lockfile.CondaPackage {
	t.Helper()
	lock, err := lockfile.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p := lock.Environments[0].Platforms[0]
	if len(p.Conda) != 1 || len(p.Unsupported) != 0 {
		t.Fatalf("%d packages, unsupported: %v", len(p.Conda), p.Unsupported)
	}
	return p.Conda[0]
}

func TestDerivedFromLocation(t *testing.T) {
	const linux, noarch = "https://conda.example/main/linux-64/", "https://conda.example/main/noarch/"
	for _, c := range []struct {
		location, keys                string
		name, version, build          string
		number                        int64
		subdir, noarch, channel, arch string
	}{
		{linux + "ld_impl_linux-64-2.45.1-default_hbd61a6d_102.conda", "", "ld_impl_linux-64", "2.45.1", "default_hbd61a6d_102", 102, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "_libgcc_mutex-0.1-conda_forge.tar.bz2", "", "_libgcc_mutex", "0.1", "conda_forge", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "python-3.12.0-h4150a38_1_cpython.conda", "", "python", "3.12.0", "h4150a38_1_cpython", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "python-3.12.0-h4150a38_1_cpython.conda", "build_number: 1", "python", "3.12.0", "h4150a38_1_cpython", 1, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "a-1-123_.conda", "", "a", "1", "123_", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "a-1-123foo.conda", "", "a", "1", "123foo", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "a-1-2.conda", "", "a", "1", "2", 2, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "a-1-1.2.3.conda", "", "a", "1", "1.2.3", 3, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "a-1%212.0%2bx-h_99999999999999999999.conda", "", "a", "1!2.0+x", "h_99999999999999999999", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
		{"https://conda.example/main/linux-aarch64/a-1-0.conda", "", "a", "1", "0", 0, "linux-aarch64", "", "https://conda.example/main", "aarch64"},
		{noarch + "six-1.16-pyhd8ed1ab_100.conda", "", "six", "1.16", "pyhd8ed1ab_100", 100, "noarch", "python", "https://conda.example/main", ""},
		{noarch + "tzdata-2024a-h0c530f3_0.conda", "", "tzdata", "2024a", "h0c530f3_0", 0, "noarch", "generic", "https://conda.example/main", ""},
		{noarch + "copy-1-py_0.conda", "noarch: generic", "copy", "1", "py_0", 0, "noarch", "generic", "https://conda.example/main", ""},
		{noarch + "rb-1-h12_0.conda", "noarch: python", "rb", "1", "h12_0", 0, "noarch", "python", "https://conda.example/main", ""},
		{linux + "a-1-py_0.conda", "", "a", "1", "py_0", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "a-1-0.conda", "name: b\nversion: '2'\nbuild: x_7\nsubdir: noarch\nchannel: https://conda.example/other/", "b", "2", "x_7", 7, "noarch", "", "https://conda.example/other", ""},
		{linux + "a-1-0.conda", "version: 0.10", "a", "0.10", "0", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
		{linux + "a-1-0.conda", "channel: null\nbuild: ~", "a", "1", "0", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
		{"../channel/linux-64/a-1-0.conda", "subdir: linux-64", "a", "1", "0", 0, "linux-64", "", "", "x86_64"},
		{"file:///channel/linux-64/a-1-0.conda", "", "a", "1", "0", 0, "linux-64", "", "", "x86_64"},
		{"https://u:p@conda.example/t/tk-1/main/linux-64/a-1-0.conda", "", "a", "1", "0", 0, "linux-64", "", "https://conda.example/main", "x86_64"},
	} {
		t.Run(c.location+" "+c.keys, func(t *testing.T) {
			both(t, func(t *testing.T, lock func(string, string) string) {
				p := onlyPackage(t, lock(c.location, c.keys))
				got := fmt.Sprint(p.Name, "|", p.Version, "|", p.Build, "|", p.BuildNumber, "|", p.Subdir, "|", p.Noarch, "|", p.Channel, "|", p.Arch)
				want := fmt.Sprint(c.name, "|", c.version, "|", c.build, "|", c.number, "|", c.subdir, "|", c.noarch, "|", c.channel, "|", c.arch)
				if got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				if p.Location != c.location {
					t.Errorf("location is %s", p.Location)
				}
			})
		})
	}
}

func TestNotDerivable(t *testing.T) {
	for _, c := range []struct{ location, keys, names string }{
		{"../channel/linux-64/a-1-0.conda", "", "`subdir`"},
		{"s3://bucket/main/linux-64/a-1-0.conda", "", "`subdir`"},
		{"oci://host.example/main/linux-64/a-1-0.conda", "", "`subdir`"},
		{"https://conda.example/main/elsewhere/a-1-0.conda", "", "`subdir`"},
		{"https://conda.example/main/linux-64/-1-0.conda", "", "`name`"},
		{"https://conda.example/main/linux-64/a-1-0.conda", "name: ../../etc/x", "`name`"},
		{"https://conda.example/main/linux-64/a-1-0.conda", "version: '..'", "`version`"},
		{"https://conda.example/main/linux-64/a-1-%2Fetc.conda", "", "a-1-%2Fetc.conda"}, // a separator in disguise
		{"https://conda.example/main/linux-64/a-1-0.conda", "noarch: perl", "`noarch`"},
		{"https://conda.example/main/linux-64/a-1-0.conda", "build_number: -1", "`build_number`"},
		{"https://conda.example/main/linux-64/a-1-0.conda", "size: many", "`size`"},
		{"https://conda.example/main/linux-64/a-1-0.conda", "depends: python", "`depends`"},
		{"https://conda.example/main/linux-64/a-1-0.conda", "depends: [[a]]", "`depends`"},
	} {
		t.Run(c.location+" "+c.keys, func(t *testing.T) {
			both(t, func(t *testing.T, lock func(string, string) string) {
				_, err := lockfile.Parse([]byte(lock(c.location, c.keys)))
				wantError(t, err, c.names, "line ")
			})
		})
	}
}

func TestTimestamps(t *testing.T) {
	for text, want := range map[string]int64{"1696321871976": 1696321871976, "1696321871": 1696321871000, "253402300799": 253402300799000, "253402300800": 253402300800} {
		if p := onlyPackage(t, lock7("https://conda.example/m/linux-64/a-1-0.conda", "timestamp: "+text)); p.Timestamp != want {
			t.Errorf("%s is read as %d, want %d", text, p.Timestamp, want)
		}
	}
}

func TestURLOnlyOfKnownSchemes(t *testing.T) {
	lock, err := lockfile.Parse([]byte(lock7("ftp://host.example/main/linux-64/a-1-0.conda", "subdir: linux-64")))
	if err != nil {
		t.Fatal(err)
	}
	p := lock.Environments[0].Platforms[0]
	if len(p.Conda) != 0 || len(p.Unsupported) != 1 {
		t.Fatalf("conda %v, unsupported %v", p.Conda, p.Unsupported)
	}
	wantError(t, p.Supported(), "ftp://", "only http, https, file, s3 and oci")
}

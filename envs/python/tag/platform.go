package tag

import "fmt"

// Glibc is a version of the GNU C library, e.g. {2, 28}.
type Glibc struct{ Major, Minor int }

// String is "2.28".
func (g Glibc) String() string { return fmt.Sprintf("%d.%d", g.Major, g.Minor) }

// oldNames are the names that some platform tags had before they named glibc.
var oldNames = map[int]string{5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}

// LinuxPlatforms returns the platform tags that a Linux with this machine
// ("x86_64", "aarch64", …) and glibc takes, best first. Of other major versions
// of glibc than 2 nothing is known: only the tag without glibc is left.
func LinuxPlatforms(machine string, glibc Glibc) []string {
	var all []string
	oldest := 17
	if machine == "x86_64" || machine == "i686" {
		oldest = 5
	}
	if glibc.Major == 2 {
		for minor := glibc.Minor; minor >= oldest; minor-- {
			all = append(all, fmt.Sprintf("manylinux_2_%d_%s", minor, machine))
			if old, ok := oldNames[minor]; ok {
				all = append(all, old+"_"+machine)
			}
		}
	}
	return append(all, "linux_"+machine)
}

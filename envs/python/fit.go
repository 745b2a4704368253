package python

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/tag"
)

// WhyNot says why a target does not take a wheel: "needs glibc 2.34", "is for
// Python cp39", "is for win_amd64". "" if it takes it.
func (t *Target) WhyNot(w *tag.WheelName) string {
	if _, fits := t.Tags().RankWheel(w); fits {
		return ""
	}
	ours := append(tag.LinuxPlatforms(t.machine, t.Glibc), "any")
	if !slices.ContainsFunc(w.Platforms, func(p string) bool { return slices.Contains(ours, p) }) {
		return t.whyNotPlatform(w.Platforms)
	}
	if abi := strings.Join(w.ABIs, "."); t.FreeThreaded && !strings.Contains(abi, "t") && abi != "none" {
		return fmt.Sprintf("is for Python %s, which has the global interpreter lock", abi)
	}
	if slices.Contains(w.ABIs, "none") {
		return "is for Python " + strings.Join(w.Pythons, ".")
	}
	return fmt.Sprintf("is for Python %s (%s)", strings.Join(w.Pythons, "."), strings.Join(w.ABIs, "."))
}

func (t *Target) whyNotPlatform(platforms []string) string {
	least := -1
	for _, p := range platforms {
		rest, ok := strings.CutPrefix(p, "manylinux_2_")
		if rest, ok2 := strings.CutSuffix(rest, "_"+t.machine); ok && ok2 {
			if minor, err := strconv.Atoi(rest); err == nil && (least < 0 || minor < least) {
				least = minor
			}
		}
	}
	if least >= 0 {
		return fmt.Sprintf("needs glibc 2.%d", least)
	}
	return "is for " + strings.Join(platforms, ".")
}

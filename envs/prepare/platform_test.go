package prepare

import (
	"errors"
	"strings"
	"testing"
)

func TestPlatformsThatPeopleMean(t *testing.T) {
	made := []string{"linux-64", "linux-aarch64"}
	for name, want := range map[string]string{
		"x86_64": "linux-64", "amd64": "linux-64", "linux/amd64": "linux-64", "osx-64": "linux-64", "win-64": "linux-64", "AMD64": "linux-64",
		"aarch64": "linux-aarch64", "arm64": "linux-aarch64", "osx-arm64": "linux-aarch64", "linux-arm64": "linux-aarch64",
	} {
		err := notMade(name, made)
		if !errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), "did you mean --platform "+want+"?") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"linux-ppc64le", "sparc", "", "linux"} {
		if err := notMade(name, made); strings.Contains(err.Error(), "did you mean") || !strings.Contains(err.Error(), "linux-64, linux-aarch64") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

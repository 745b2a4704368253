// Package setup tests the command line of setup.sh; what it installs is seen by
// every other test.
package setup

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	out, err := exec.Command("./setup.sh", "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--check") {
		t.Errorf("--help: %v: %s", err, out)
	}
	for _, args := range [][]string{{"--nosuch"}, {"--check", "more"}} {
		out, err := exec.Command("./setup.sh", args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "unknown argument: "+args[len(args)-1]) {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}

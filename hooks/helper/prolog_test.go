package helper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
)

func ownPin() string {
	return `1:own:{"lock":"` + strings.Repeat("a", 64) + `","env":"default","id":"` + strings.Repeat("b", 32) + `","platforms":["linux-64"],"store":"/home/u/s"}`
}

// Root leaves a job's pin only where nobody else can put another in its place.
func TestPrologWritesOnlyWhereRootAloneMay(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	if err := leavePin(run, "7", ownPin()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(run string) error{
		"another's directory": func(run string) error { return os.Chown(run, 12345, -1) },
		"another's job":       func(run string) error { return os.Chown(filepath.Join(run, "job"), 12345, -1) },
		"writable by all":     func(run string) error { return os.Chmod(filepath.Join(run, "job"), 0o777) },
		"a link": func(run string) error {
			if err := os.Rename(filepath.Join(run, "job"), filepath.Join(run, "elsewhere")); err != nil {
				return err
			}
			return os.Symlink("elsewhere", filepath.Join(run, "job"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			needRoot(t)
			run := filepath.Join(t.TempDir(), "run")
			if err := os.MkdirAll(filepath.Join(run, "job"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := spoil(run); err != nil {
				t.Fatal(err)
			}
			if err := leavePin(run, "7", ownPin()); err == nil || !strings.Contains(err.Error(), "only root may write to") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPrologUsage: an administrator who calls it wrongly is told how it is called.
func TestPrologUsage(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"--nosuch"}, {"more"}} {
		for _, verb := range []string{"prolog", "epilog"} {
			err := prologOrEpilog(t.Context(), verb, args)
			if err == nil || exitCode(err) != api.ExitUsage || !strings.Contains(err.Error(), "usage: hpcenv slurm-hook "+verb+" [--unhealthy report|drain|fail]") {
				t.Errorf("%s %v: %v", verb, args, err)
			}
		}
	}
}

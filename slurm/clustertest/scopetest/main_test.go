//go:build cluster

package scopetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/hpcenv/hpcenv/slurm/scope"
)

// The test binary is three programs: the tests, the driver that they run within the
// cluster, and the probe that the SPANK plugin of testdata/probe.c runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case "probe":
			err = probe(os.Args[2], os.Args[3])
		case "drive":
			err = drive(os.Args[2], os.Args[3])
		default:
			os.Exit(runTests(m))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "scopetest:", os.Args[1]+":", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(runTests(m))
}

// runTests stops the cluster that the tests share, if one has started it.
func runTests(m *testing.M) int {
	code := m.Run()
	if shared == nil {
		return code
	}
	if err := shared.devcluster("stop", "--purge"); err != nil {
		fmt.Fprintln(os.Stderr, "scopetest:", err)
		return 1
	}
	return code
}

// Variables that the driver sets for the probe.
const (
	probeDir     = "SCOPE_PROBE"   // where the answers go; the plugin does nothing without it
	probeCluster = "SCOPE_CLUSTER" // a scope.Cluster
	probeNeeds   = "SCOPE_NEEDS"   // features that the plan asks for
)

// probe answers for the process that it was started by, and prints what that process is
// to hand to slurmctld.
func probe(program, component string) error {
	n, err := strconv.Atoi(component)
	if err != nil {
		return err
	}
	var c scope.Cluster
	if err := readJSON(os.Getenv(probeCluster), &c); err != nil {
		return err
	}
	s := scope.FromProcess(os.Getppid(), program, n, &c)
	if _, err := os.Stdout.WriteString(s.Carry(os.Getenv(probeNeeds))); err != nil {
		return err
	}
	return writeJSON(filepath.Join(os.Getenv(probeDir), component+".json"), s)
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

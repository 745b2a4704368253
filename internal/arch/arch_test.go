package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hpcenv/hpcenv/"

// allowed: what a room (the packages under a folder) may import of this module
// besides itself. The longest matching folder counts.
var allowed = map[string][]string{
	"cache":                  {},
	"envs":                   {"cache", "internal/making", "internal/nearest", "internal/remember"},
	"envs/bytecode/pycbench": {"envs", "cache", "internal/figure"}, // a program that measures
	"slurm":                  {"envs", "cache"},
	"slurm/launchbench":      {"hooks/pin", "internal/figure"}, // a program that measures
	"hooks":                  {"envs", "cache", "daemon/api", "internal/clientconf", "internal/fdmsg", "internal/munge", "internal/plain", "internal/remember", "internal/shellword", "internal/version", "slurm"},
	"daemon":                 {"slurm", "hooks", "envs", "cache", "internal/munge", "internal/nearest", "internal/version"},
	"daemon/api":             {"internal/making", "internal/munge"}, // a leaf: types and the clients
	"daemon/service":         {"daemon/api", "daemon/budget", "daemon/inventory", "slurm", "hooks", "envs", "cache", "internal/clientconf", "internal/version"},
	"cmd":                    {"daemon", "hooks", "slurm", "envs", "cache", "internal/clientconf", "internal/membound", "internal/munge", "internal/plain", "internal/shellword", "internal/version"},
	"cmd/hpcenv-gpu":         {"hooks/gpu"}, // the driver's library, and nothing else that could fail
	"contrib":                {"envs", "cache", "daemon", "slurm", "hooks", "internal"},
	"contrib/packages/pages": {"cmd"}, // manual pages are made of the command lines
	"internal":               {"envs", "cache", "daemon", "slurm", "hooks", "cmd"},
	"internal/clientconf":    {},
	"internal/making":        {}, // types alone
	"internal/nearest":       {},
	"internal/remember":      {},
	"internal/version":       {},
	"internal/munge":         {},
	"internal/membound":      {},
	"internal/fdmsg":         {},
	"internal/shellword":     {},
	"internal/plain":         {},
	"internal/testdata":      {},
	"internal/condatest":     {},
	"internal/wheeltest":     {},
	"internal/faultfs":       {},
	"internal/ownmounts":     {},

	"internal/channelservers": {"internal/testdata"},
}

// notInCLI must not be linked into cmd/hpcenv, and why.
var notInCLI = map[string]string{
	"github.com/spf13/viper":              "configuration of a service",
	"github.com/mattn/go-sqlite3":         "needs cgo",
	"github.com/prometheus/client_golang": "large, and works when it is initialised",
	"github.com/NVIDIA/go-nvml":           "needs cgo",
	"github.com/go-co-op/gocron":          "schedules of a service",
	"github.com/cosnicolaou/pbzip2":       "30 ms of tables whenever the program starts",
	"runtime/cgo":                         "the binary is static",
	"testing":                             "tests",
	"net/http/httptest":                   "tests",
	module + "internal/condatest":         "tests",
	module + "internal/wheeltest":         "tests",
	module + "internal/faultfs":           "tests",
	module + "internal/ownmounts":         "tests",
	module + "hooks/gpu/gputest":          "tests",
	module + "internal/channelservers":    "tests",
	module + "daemon/server":              "the service's side",
	module + "daemon/config":              "the service's side",
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// within: path is folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func room(path string) string {
	best := ""
	for r := range allowed {
		if within(path, r) && len(r) > len(best) {
			best = r
		}
	}
	return best
}

func TestImportsPointOneWay(t *testing.T) {
	pkgs := list(t, "./...")
	if len(pkgs) < 10 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	for _, p := range pkgs {
		path, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			continue // the module's own page
		}
		r := room(path)
		if r == "" {
			t.Errorf("%s lies in no room: add it to the table", path)
			continue
		}
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module)
			if !ours || within(to, r) {
				continue
			}
			if !slices.ContainsFunc(allowed[r], func(a string) bool { return within(to, a) }) {
				t.Errorf("%s imports %s, which %s may not", path, to, r)
			}
		}
	}
}

func TestCommandLineLinksLittle(t *testing.T) {
	deps := list(t, "-deps", "./cmd/hpcenv")
	if !slices.ContainsFunc(deps, func(p pkg) bool { return p.ImportPath == module+"cmd/hpcenv/cli" }) {
		t.Fatal("cmd/hpcenv without its command line?")
	}
	for _, p := range deps {
		for no, why := range notInCLI {
			if within(p.ImportPath, no) {
				t.Errorf("cmd/hpcenv links %s (%s)", p.ImportPath, why)
			}
		}
	}
}

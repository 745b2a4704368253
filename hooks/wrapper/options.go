package wrapper

import (
	"context"
	"io"
	"runtime"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// Options say which environment is meant and where from.
type Options struct {
	// Service opens the service that prepares. It is called only if the store
	// does not answer by itself, so a stopped daemon does not matter for what is
	// prepared.
	Service func(ctx context.Context) (api.Service, error)
	// Store as this host sees it; "" = ask the service.
	Store string
	// Request names the lock: its bytes, its path, and by environment the
	// canonical JSON of its manifest's activation. What else it holds is
	// replaced.
	Request api.PrepareRequest
	// Editable is what the manifest says of Python packages that it has by path, by
	// normalized name: true = to be used from the source tree.
	Editable map[string]bool
	// Environment by name; "" = default.
	Environment string
	// Platform (conda subdir); "" = this host's.
	Platform string
	// LinkScripts: only an environment that was made with these rules for link scripts
	// will do (prepare.RulesDigest); "" = with whatever the store has.
	LinkScripts string
	// Pythons: of a lock that names no Python only an environment that was made with
	// this offer will do (pyenv.Offer.Digest); "" = with whatever the store has.
	Pythons string
	// Check is how strictly the host is checked before a launch; "" = as the job that
	// this process is part of has it, or the site.
	Check selection.Check
	// Env of the caller.
	Env []string
	// Stdout and Stderr: messages go to Stderr only.
	Stdout, Stderr io.Writer
	// Report of a preparation's progress; may be nil.
	Report func(api.Event)
	// Scripts bounds activation scripts. Its Stderr defaults to Stderr.
	Scripts activation.Options
}

// withDefaults fills in what may be left out.
func (o Options) withDefaults() (Options, error) {
	if o.Environment == "" {
		o.Environment = "default"
	}
	if o.Platform == "" {
		p := HostPlatform()
		if p == "" {
			return o, api.Errorf(api.ExitNoFit, "this host's architecture (%s) has no conda platform that hpcenv knows\nnext: run it on an x86-64 or aarch64 host", runtime.GOARCH)
		}
		o.Platform = p
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.Scripts.Stderr == nil {
		o.Scripts.Stderr = o.Stderr
	}
	return o, nil
}

var platforms = map[string]string{"amd64": "linux-64", "arm64": "linux-aarch64", "ppc64le": "linux-ppc64le", "riscv64": "linux-riscv64"}

// HostPlatform is the conda subdir of this host; "" = none that hpcenv knows.
func HostPlatform() string { return platforms[runtime.GOARCH] }

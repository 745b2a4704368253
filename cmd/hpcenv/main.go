//go:build linux

// Command hpcenv is the users' command line and, called by the SPANK shim, the
// node helper. It is static, needs no cgo, and starts in milliseconds: what is
// imported here must not do work when it is initialised (internal/arch holds
// the list).
package main

import (
	"context"
	"os"
	"sync"

	"github.com/hpcenv/hpcenv/cache/mirror"
	"github.com/hpcenv/hpcenv/cmd/hpcenv/cli"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/hooks/helper"
	"github.com/hpcenv/hpcenv/hooks/wrapper"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

func main() {
	// The helper's calls come first: they run on every node of every step, some
	// of them as root, and must not meet anything of the command line.
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "spank", "slurm-hook":
			os.Exit(helper.Main(os.Args[1:], helper.Deps{Local: local, Bring: bring}))
		}
	}
	if len(os.Args) > 1 && wrapper.Serves(os.Args[1]) {
		os.Exit(wrapper.Main(os.Args[1:])) // hpcenv run calls itself
	}
	os.Exit(cli.Main(os.Args[1:]))
}

// local serves a submission on a user's own store, in this process.
func local(_ context.Context, store string) (api.Service, error) {
	rules, err := prepare.ParseScriptRules(os.Getenv("HPCENV_RUN_SCRIPTS"))
	if err != nil {
		return nil, err
	}
	offer, err := service.OwnPython(os.Getenv("HPCENV_CONF"), os.Getenv)
	if err != nil {
		return nil, err
	}
	own := service.Own{Scripts: rules, Python: offer}
	if d := os.Getenv("HPCENV_DELIVERY"); d != "" {
		if own.Delivery, err = image.Parse(d); err != nil {
			return nil, api.Errorf(api.ExitUsage, "HPCENV_DELIVERY: %v\nnext: name one of these", err)
		}
	}
	if own.Mirrors, err = mirrors(); err != nil {
		return nil, err
	}
	return service.OpenOwn(store, own)
}

// mirrors are the site's.
func mirrors() ([]mirror.Rule, error) {
	found, err := clientconf.Mirrors(os.Getenv("HPCENV_CONF"))
	if err != nil {
		return nil, err
	}
	var out []mirror.Rule
	for _, m := range found {
		out = append(out, mirror.Rule(m))
	}
	return out, nil
}

// bringer is made when a submission first needs the user's credentials.
var bringer = sync.OnceValues(func() (*service.Bringer, error) {
	rules, err := mirrors()
	if err != nil {
		return nil, err
	}
	return service.NewBringer(service.Own{Mirrors: rules}), nil
})

// bring gets an archive with the user's credentials, for a submission.
func bring(ctx context.Context, req *api.PrepareRequest, n api.Need, report func(api.Event)) (string, func() error, error) {
	b, err := bringer()
	if err != nil {
		return "", nil, err
	}
	return b.Bring(ctx, req, n, report)
}

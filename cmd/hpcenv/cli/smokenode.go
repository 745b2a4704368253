//go:build linux

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/hooks/checkup"
	"github.com/hpcenv/hpcenv/hooks/helper"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/preflight"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/smoke"
)

// smokeNodeWord is how smoke calls this program where an environment is active.
const smokeNodeWord = "smoke-node"

func (a *app) smokeNodeCmd() *cobra.Command {
	var limit time.Duration
	cmd := &cobra.Command{
		Use:    smokeNodeWord,
		Short:  "Try the modules of the environment that is active (hpcenv smoke calls it)",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.smokeNode(cmd.Context(), limit)
		},
	}
	cmd.Flags().DurationVar(&limit, "limit", smoke.DefaultLimit, "how long a module may take")
	return cmd
}

// smokeNode tries what is active.
func (a *app) smokeNode(ctx context.Context, limit time.Duration) error {
	prefix := a.getenv("CONDA_PREFIX")
	id, platform, _, active := activation.Active(os.Environ())
	if !active || prefix == "" {
		return api.Errorf(api.ExitUsage, "no environment is active here\nnext: hpcenv smoke, or hpcenv smoke --here")
	}
	platform, _, _ = strings.Cut(platform, "+")
	found, err := a.activePrepared(id, platform)
	if err != nil {
		return err
	}
	var known *needs.Needs
	begin := smoke.Begin{Node: checkup.NodeName(os.LookupEnv), Job: a.getenv("SLURM_JOB_ID"), Platform: platform, ID: id, Prefix: prefix, Environment: a.getenv("CONDA_DEFAULT_ENV")}
	if found != nil {
		known, begin.Environment = found.Needs, found.Meta.Environment
	}
	if j := a.activeInJob(); j != nil {
		begin.Environment = j.name
	}
	modules, err := smoke.Importable(prefix)
	if err != nil {
		return api.Errorf(api.ExitUnreachable, "the modules of the environment: %v\nnext: is the storage there?", err)
	}
	opened, err := openable(known, prefix)
	if err != nil {
		return api.Errorf(api.ExitUnreachable, "%v\nnext: is the storage there?", err)
	}
	modules = append(modules, opened...)
	begin.Modules = len(modules)
	tell := smoke.Encoder{W: a.stdout}
	if err := tell.Begin(begin); err != nil {
		return err
	}
	one, err := a.judgeActive(ctx, begin.Environment, found)
	if err != nil {
		return err
	}
	failed := false
	var untold error
	err = smoke.Try(ctx, smoke.Options{Prefix: prefix, Env: os.Environ(), Limit: limit, Parallel: processors(a.getenv)}, modules, func(r smoke.Result) {
		if !r.OK && r.How == smoke.Open && slices.Contains(one.elsewhere, r.Name) {
			r.OK, r.Elsewhere = true, true
		}
		failed = failed || !r.OK
		untold = errors.Join(untold, tell.Result(r))
	})
	if err = errors.Join(err, untold); err != nil {
		return err
	}
	var end smoke.End
	if failed {
		for _, f := range one.Findings {
			if f.Level != preflight.Fits && f.Level != preflight.Unknown {
				end.Findings = append(end.Findings, f)
			}
		}
	}
	return tell.End(end)
}

// judgeActive makes the checks of a launch for what is active: they may say why modules
// fail, and which are not for this node.
func (a *app) judgeActive(ctx context.Context, name string, found *checkup.Prepared) (*checked, error) {
	host := checkup.Look(ctx, checkup.Options{RunDir: helper.DefaultRunDir, Env: os.LookupEnv})
	r, one := &checkResult{Host: host}, &checked{Name: name}
	if p, err := pin.Decode(a.getenv(pin.Variable)); err == nil {
		conf, err := a.conf()
		if err != nil {
			return nil, err
		}
		if err := r.ofPin(conf.Store, p); err != nil {
			return nil, err
		}
	}
	return one, a.checkOne(ctx, r, one, found, nil, nil)
}

// activePrepared is the environment that is active, as the store has it; nil = it does
// not.
func (a *app) activePrepared(id, platform string) (*checkup.Prepared, error) {
	conf, err := a.conf()
	if err != nil {
		return nil, err
	}
	root := conf.Store
	if p, err := pin.Decode(a.getenv(pin.Variable)); err == nil {
		root = p.Within(conf.Store)
	}
	if root == "" {
		return nil, nil
	}
	found, err := checkup.FindID(prepared.Store{Root: root}, id, platform)
	if err != nil {
		return nil, storeUnread(root, err)
	}
	return found, nil
}

// openable are the files that programs open at run time: as noted, else as found by
// their places.
func openable(known *needs.Needs, prefix string) (out []smoke.Module, err error) {
	if known != nil {
		for _, m := range known.Modules {
			out = append(out, smoke.Module{Name: m.Path, How: smoke.Open, Package: m.Package, Of: m.Of})
		}
		return out, nil
	}
	list, err := elf.Modules(filepath.Clean(prefix))
	for _, m := range list {
		out = append(out, smoke.Module{Name: m.Path, How: smoke.Open, Of: m.Of})
	}
	return out, err
}

// maxProcessors bounds how many modules are tried at a time: each may need a gigabyte.
const maxProcessors = 8

// processors that this process may use.
func processors(getenv func(string) string) int {
	n := runtime.NumCPU()
	for _, name := range []string{"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"} {
		if given, err := strconv.Atoi(getenv(name)); err == nil && given > 0 {
			n = min(n, given)
			break
		}
	}
	return min(n, maxProcessors)
}

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/wrapper"
)

// wrapperFlags say which environment run, shell and shell-hook mean.
type wrapperFlags struct {
	lock, environment string
}

func (f *wrapperFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.lock, "lock", "", "pixi.lock, or a directory with one (default: the nearest one upwards)")
	cmd.Flags().StringVarP(&f.environment, "environment", "e", "default", "environment of the lock")
}

func (a *app) runCmd() *cobra.Command {
	var f wrapperFlags
	cmd := &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARGUMENT...]",
		Short: "Run a command in an environment, without Slurm",
		Long: `Run a command in the environment that a lock names, for this host's platform.
What is not prepared yet is prepared first. The command's exit code is that of
hpcenv; 127 means that the command was not found.`,
		Example: "  hpcenv run -- python x.py\n  hpcenv run -e test -- pytest -q",
		Args:    usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.wrapperOptions(f)
			if err != nil {
				return err
			}
			return ended(wrapper.Run(cmd.Context(), o, args))
		},
	}
	f.add(cmd)
	// Flags after the command are the command's own.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func (a *app) shellCmd() *cobra.Command {
	var f wrapperFlags
	cmd := &cobra.Command{
		Use:   "shell",
		Short: "Start a shell in an environment, without Slurm",
		Long: `Start $SHELL in the environment that a lock names, for this host's platform.
What is not prepared yet is prepared first. exit leaves the environment.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := a.wrapperOptions(f)
			if err != nil {
				return err
			}
			return ended(wrapper.Shell(cmd.Context(), o))
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) shellHookCmd() *cobra.Command {
	var f wrapperFlags
	var shell string
	cmd := &cobra.Command{
		Use:     "shell-hook",
		Short:   "Print the commands that activate an environment in this shell",
		Example: `  eval "$(hpcenv shell-hook)"`,
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := a.wrapperOptions(f)
			if err != nil {
				return err
			}
			return ended(wrapper.Hook(cmd.Context(), o, shell))
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&shell, "shell", "", "bash, zsh, sh, dash, ksh, fish, tcsh or csh (default: by $SHELL)")
	return cmd
}

// ended makes a wrapper's end an error with its exit code; a failure of no
// class of its own is classified as everywhere.
func ended(code int, err error) error {
	if err == nil || code == api.ExitFailed {
		return err
	}
	return api.Errorf(code, "%v", err)
}

func (a *app) wrapperOptions(f wrapperFlags) (wrapper.Options, error) {
	req, err := a.request(f.lock)
	if err != nil {
		return wrapper.Options{}, err
	}
	if err := addActivation(req, f.environment); err != nil {
		return wrapper.Options{}, err
	}
	c, err := a.conf()
	if err != nil {
		return wrapper.Options{}, err
	}
	sum := sha256.Sum256(req.Lock)
	head := "pixi.lock " + short(hex.EncodeToString(sum[:]))
	return wrapper.Options{
		Service: func(context.Context) (api.Service, error) {
			svc, err := a.writer()
			return shownService{svc, a, head}, err
		},
		Store: c.Store, Request: *req, Environment: f.environment, Env: os.Environ(), Stdout: a.stdout, Stderr: a.stderr,
	}, nil
}

// addActivation adds what the manifest beside the lock says of the activation of
// an environment, unless the request has it.
func addActivation(req *api.PrepareRequest, environment string) error {
	if len(req.Activations[environment]) > 0 {
		return nil
	}
	p, err := project.Load(filepath.Dir(req.LockPath))
	if err != nil {
		return api.Errorf(api.ExitUsage, "%v", err)
	}
	if p == nil {
		return nil
	}
	m, err := p.Activation(environment)
	var unknown *project.UnknownEnvironmentError
	if errors.As(err, &unknown) {
		return nil // Whether there is such an environment is for the lock to say.
	}
	if err != nil {
		return api.Errorf(api.ExitUsage, "%v", err)
	}
	if req.Activations == nil {
		req.Activations = map[string][]byte{}
	}
	req.Activations[environment], _ = project.Canonical(m)
	return nil
}

// shownService shows the progress of a preparation on standard error, and has
// cleared it before another program takes the terminal.
type shownService struct {
	api.Service
	a    *app
	head string
}

// Prepare implements api.Service; report is the progress display's. Nothing is
// shown of a preparation that has nothing to do.
func (s shownService) Prepare(ctx context.Context, req *api.PrepareRequest, _ func(api.Event)) (*api.PrepareResult, error) {
	shown := newProgress(s.a.stderr, s.head)
	defer shown.close()
	var held []api.Event
	working := false
	res, err := s.Service.Prepare(ctx, req, func(e api.Event) {
		held = append(held, e)
		working = working || e.New || (e.Type != api.EventPlan && e.Type != api.EventPublished)
		if !working {
			return
		}
		for _, h := range held {
			shown.report(h)
		}
		held = nil
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted before the environment was ready; `hpcenv prepare` goes on from there: %w", err)
	}
	return res, err
}

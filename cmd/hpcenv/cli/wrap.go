//go:build linux

package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/wrapper"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

// defaultName is the environment that is meant if none is named.
const defaultName = "default"

// wrapFlags are what run, shell and shell-hook have in common.
type wrapFlags struct {
	environment, lock string
	// check is --env-check, of run and shell.
	check string
	// named: the user, or what the user runs, names the environment.
	named bool
}

func (f *wrapFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.environment, "environment", "e", defaultName, "environment of the lock (default: the one that fits this host)")
	cmd.Flags().Lookup("environment").DefValue = ""
	cmd.Flags().StringVar(&f.lock, "lock", "", "a lock or a directory with one (default: the nearest one upwards)")
}

// wrapperCmds are the commands that start something in an environment without
// Slurm's help.
func (a *app) wrapperCmds() []*cobra.Command {
	var f wrapFlags
	run := a.runCmd(&f)
	shell := &cobra.Command{
		Use:   "shell",
		Short: "Start a shell in an environment, here",
		Long: `Start a shell in an environment on this host: $SHELL, or bash. An environment that is
one file (an image) is shown by squashfuse, in mounts that only this shell and what
it starts see. There sudo and other set-user-id programs have no effect, and groups
other than the first are shown as nogroup, though they count. For a shell in a
running job: hpcenv attach.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.named = cmd.Flags().Changed("environment")
			return a.wrap(cmd.Context(), f, wrapper.Shell)
		},
	}
	var kind string
	hook := &cobra.Command{
		Use:   "shell-hook",
		Short: "Print what activates an environment in this shell",
		Long:  "Print what activates an environment in a shell that runs already:\n\n  eval \"$(hpcenv shell-hook)\"",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.named = cmd.Flags().Changed("environment")
			return a.wrap(cmd.Context(), f, func(ctx context.Context, o wrapper.Options) (int, error) { return wrapper.Hook(ctx, o, kind) })
		},
	}
	hook.Flags().StringVar(&kind, "shell", "", "bash, zsh, sh, dash, ksh, fish, tcsh or csh (default: by $SHELL)")
	for _, cmd := range []*cobra.Command{run, shell} {
		cmd.Flags().StringVar(&f.check, "env-check", "", "what becomes of an environment that this host cannot run: strict (it is refused), warn, off (default: as the job has it, or the site; outside of jobs warn)")
		cmd.Flags().Lookup("env-check").DefValue = ""
	}
	for _, cmd := range []*cobra.Command{run, shell, hook} {
		f.add(cmd)
		a.choice.add(cmd.Flags())
		a.addFrozen(cmd)
	}
	return []*cobra.Command{run, shell, hook}
}

// notADirectory refuses what only looks like a command: a project, as prepare
// takes it.
func notADirectory(name, command string) error {
	st, err := os.Stat(name)
	if err != nil || !strings.Contains(name, "/") && name != "." && name != ".." && name != project.LockName {
		return nil // a name is looked for in PATH
	}
	if !st.IsDir() && filepath.Base(name) != project.LockName {
		return nil
	}
	return api.Errorf(api.ExitUsage, "%q is no command\nnext: if it is the project: %s --lock %s -- COMMAND", name, command, shellword.Quote(name))
}

// wrap calls do with what the flags mean. run and shell come back only if they
// failed: otherwise this process has become the command.
func (a *app) wrap(ctx context.Context, f wrapFlags, do func(context.Context, wrapper.Options) (int, error)) error {
	c, err := a.conf()
	if err != nil {
		return err
	}
	rules, err := a.scriptRules(c)
	if err != nil {
		return err
	}
	var check selection.Check
	if f.check != "" {
		if check, err = selection.ParseCheck(f.check); err != nil {
			return api.Errorf(api.ExitUsage, "%v", err)
		}
	}
	var named []string
	if f.environment != defaultName {
		named = []string{f.environment}
	}
	req, err := a.request(f.lock, named, false)
	if err != nil {
		return err
	}
	if len(req.Environments) > 1 {
		return api.Errorf(api.ExitUsage, "-e %s names several environments; a command runs in one\nnext: leave the others out", f.environment)
	}
	if f.environment = defaultName; len(req.Environments) > 0 {
		f.environment = req.Environments[0]
	} else if !f.named {
		if f.environment, err = a.here(ctx, req); err != nil {
			return err
		}
		if f.environment != defaultName {
			if req.Activations, err = a.activations([]string{f.environment}); err != nil {
				return err
			}
		}
	}
	pythons, err := a.pythons(c, req.Lock)
	if err != nil {
		return err
	}
	shown := newProgress(a.stderr, header(req.Lock), showNew)
	code, err := do(ctx, wrapper.Options{
		Service: func(context.Context) (api.Service, error) {
			svc, err := a.writer(false)
			if err != nil {
				return nil, err
			}
			return svc, a.bring(svc)
		},
		Store:       c.Store,
		Request:     *req,
		Environment: f.environment,
		Editable:    a.editable[f.environment],
		LinkScripts: prepare.RulesDigest(rules),
		Pythons:     pythons,
		Env:         os.Environ(),
		Check:       check,
		Stdout:      a.stdout,
		Stderr:      a.stderr,
		Report:      shown.report,
	})
	shown.close()
	return aboutLock(a.ended(code, err), req.LockPath)
}

// ended keeps the exit code of a program, and the reason why it could not be run.
func (a *app) ended(code int, err error) error {
	switch {
	case err == nil:
		a.code = code
		return nil
	case code == wrapper.ExitNotFound || code == wrapper.ExitNotRunnable:
		return &api.Error{Code: code, Message: err.Error()}
	}
	return err
}

// Package cli is the users' command line.
//
// Enters: arguments, the environment, a lock. Leaves: what a service (the
// daemon's, or one in this process) answers, on stdout as a table or JSON;
// messages and progress on stderr; an exit code.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// app is what all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	// socket and store as given by flags.
	socket, store string
	// scripts: CHANNEL::PACKAGE whose link scripts run, as given by flags.
	scripts []string
	// delivery: how a store of one's own publishes, as given by a flag.
	delivery string
	// choice is what of a lock without environments is wanted, as given by flags.
	choice choice
	// frozen: locks are taken as they are, whatever their manifests say.
	frozen bool
	// project is the manifest beside the lock of the request; nil = none.
	project *project.Project
	// editable is what the manifest says of packages by path, by environment.
	editable map[string]map[string]bool
	// notes for the user about what was read.
	notes []string
	// elsewhere: what is made can be used in the project's directory only, which is
	// not known.
	elsewhere bool
	// json: facts, and errors too, are printed as JSON on stdout.
	json bool
	// headed: the lock was named, with what each kind of node gets of it.
	headed bool
	// args of the command line.
	args []string
	// code, if set, is the exit code of a command that hpcenv ran.
	code int
}

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	if code, ok := inner(args); ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), heeded()...)
	defer stop()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, args: args}
	root := a.root()
	root.SetArgs(args)
	return a.exit(root.ExecuteContext(ctx))
}

// Command is the command line as it is told to manual pages and completions; it is
// not run.
func Command() *cobra.Command {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	return a.root()
}

// heeded are the signals that end a command in good order. One that the caller
// had ignored (nohup, a background job) stays ignored, here and in what run
// starts.
func heeded() []os.Signal {
	var out []os.Signal
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	return out
}

// exit prints err and returns its exit code; the classes behind the codes are
// known in one place, service.Classify.
func (a *app) exit(err error) int {
	if err == nil {
		return a.code
	}
	e := service.Classify(err)
	if e.Message == "" {
		return e.Code
	}
	fmt.Fprintf(plain.Writer{W: a.stderr}, "hpcenv: error: %s\n", e.Message)
	if a.json {
		type failure struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if err := a.printJSON(map[string]failure{"error": {e.Code, e.Message}}); err != nil {
			fmt.Fprintf(a.stderr, "hpcenv: error: standard output: %v\n", err)
		}
	}
	return e.Code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "hpcenv",
		Short: "Locked environments on every node of a Slurm cluster",
		Long: `hpcenv gives every node of a Slurm job the environment that a lock
(pixi.lock, conda-lock.yml, uv.lock, pylock.toml) names, fitting that node.

  hpcenv prepare                     fetch and build what the lock names
  sbatch --env-lock=. job.sh         run a job in it
  hpcenv run -- python x.py          run here, without Slurm`,
		Version:       service.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("hpcenv {{.Version}}\n")
	root.SetHelpCommand(helpCmd(root))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetIn(a.stdin)
	root.PersistentFlags().StringVar(&a.socket, "socket", "", "socket of hpcenvd (default: HPCENV_SOCKET, then /etc/hpcenv/hpcenv.conf)")
	root.PersistentFlags().StringVar(&a.store, "store", "", "work on this store, without a daemon (default: HPCENV_STORE, then /etc/hpcenv/hpcenv.conf)")
	root.PersistentFlags().StringArrayVar(&a.scripts, "run-scripts", nil, "in a store of one's own: run the link scripts of CHANNEL::PACKAGE in a sandbox (repeatable; default: HPCENV_RUN_SCRIPTS, separated by blanks)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// Flags behind the wrong one were not read.
		a.json = a.json || cmd.Flags().Lookup("json") != nil && slices.Contains(a.args, "--json")
		return api.Errorf(api.ExitUsage, "%v\nnext: %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(a.commands()...)
	return root
}

// helpCmd is `hpcenv help`; an unknown topic is an error like any unknown command.
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usageArgs(cobra.NoArgs)(root, args)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// addFrozen gives a command the flag that switches the comparison of lock and
// manifest off.
func (a *app) addFrozen(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.frozen, "frozen", false, "take the lock as it is, even if the manifest beside it asks for something else (default: HPCENV_FROZEN)")
}

// usageArgs makes a wrong number of arguments an error of usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		if cmd.HasSubCommands() && len(args) > 0 {
			msg := fmt.Sprintf("unknown command %q", args[0])
			if cmd.HasParent() {
				msg += " of " + cmd.CommandPath()
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				msg += fmt.Sprintf("; did you mean %s?", near[0])
			}
			return api.Errorf(api.ExitUsage, "%s\nnext: %s --help", msg, cmd.CommandPath())
		}
		return api.Errorf(api.ExitUsage, "%s: %s given; usage: %s\nnext: %s --help", cmd.CommandPath(), amount{len(args), "argument", "arguments"}, cmd.UseLine(), cmd.CommandPath())
	}
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "hpcenv %s\n", service.Version())
			return err
		},
	}
}

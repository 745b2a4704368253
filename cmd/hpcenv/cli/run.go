//go:build linux

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/task"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/wrapper"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// runCmd is `hpcenv run`.
func (a *app) runCmd(f *wrapFlags) *cobra.Command {
	var list, executable bool
	cmd := &cobra.Command{
		Use:   "run [-e ENVIRONMENT] [--] COMMAND|TASK [ARGUMENT...]",
		Short: "Run a command, or a task of the manifest, in an environment, here",
		Long: `Run a command in an environment on this host. What is not prepared yet is
prepared first, for this host's platform.

A name that is a task of the project's pixi manifest runs the task, with what it
depends on, in the project's directory, as pixi run does; nothing is solved. If
the default environment does not have the task and one other has, that is taken.`,
		Args: usageArgs(func(cmd *cobra.Command, args []string) error {
			if list {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.listTasks(*f, cmd.Flags().Changed("environment"))
			}
			if err := notADirectory(args[0], cmd.CommandPath()); err != nil {
				return err
			}
			named := cmd.Flags().Changed("environment")
			job := a.ofJob(*f, named)
			if job != nil {
				f.environment, named = job.Environment, true
			}
			if !executable {
				var err error
				if args, err = a.task(f, named, args); err != nil {
					return err
				}
			}
			f.named = named || f.environment != defaultName
			if job != nil {
				return a.ended(wrapper.Direct(args, os.Environ(), job.ID))
			}
			return a.wrap(cmd.Context(), *f, func(ctx context.Context, o wrapper.Options) (int, error) { return wrapper.Run(ctx, o, args) })
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the tasks of the project")
	cmd.Flags().BoolVarP(&executable, "executable", "x", false, "run a command even if a task has its name")
	cmd.Flags().BoolVar(&a.json, "json", false, "with --list: print one JSON array")
	// What follows the command is the command's.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// ofJob returns the pin of the job that this process is part of, if the
// environment that is meant is the job's own and active here: the same lock, by
// its path, and the same environment. It then runs as it was submitted, whatever
// became of the lock since.
func (a *app) ofJob(f wrapFlags, named bool) *pin.Pin {
	p, err := pin.Decode(a.getenv(pin.Variable))
	if err != nil || a.choice.given() || named && f.environment != p.Environment {
		return nil
	}
	id, _, _, active := activation.Active(os.Environ())
	path, _, err := project.FindLock(f.lock)
	if err != nil || !active || id != p.ID || path != p.LockPath {
		return nil
	}
	return p
}

// manifest reads the manifest beside the lock that is meant; nil = there is none.
func (a *app) manifest(lock string) (*project.Project, string, error) {
	path, _, err := project.FindLock(lock)
	if err != nil {
		return nil, "", err
	}
	p, err := project.Load(filepath.Dir(path))
	return p, path, err
}

// task turns the name of a task, with arguments, into what runs it, and chooses
// its environment unless one is named. What is no task comes back as it is.
func (a *app) task(f *wrapFlags, named bool, args []string) ([]string, error) {
	p, lock, err := a.manifest(f.lock)
	if p == nil || err != nil {
		return args, err
	}
	subdir := wrapper.HostPlatform()
	has, err := task.Available(p, args[0], subdir)
	if err != nil || len(has) == 0 {
		return args, err
	}
	switch {
	case slices.Contains(has, f.environment):
	case named:
		return args, nil // a command of that environment, as in pixi
	case len(has) > 1:
		return nil, api.Errorf(api.ExitUsage, "the task %q is in several environments: %s\nnext: name one with -e", args[0], strings.Join(has, ", "))
	default:
		f.environment = has[0]
		fmt.Fprintf(a.stderr, "hpcenv: note: the task %s is in the environment %s\n", args[0], has[0])
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	plan, err := task.Compose(task.Request{
		Project: p, Environment: f.environment, Subdir: subdir, Name: args[0], Args: args[1:], InitCwd: wd,
		Self: []string{self, "run", "--frozen", "--lock", lock}, // this call has compared the lock
	})
	if err != nil {
		return nil, err
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(a.stderr, "hpcenv: note:", note)
	}
	return append(slices.Clone(task.Shell), plan.Script()), nil
}

// taskInfo is one task for `hpcenv run --list`.
type taskInfo struct {
	Name         string   `json:"name"`
	Environments []string `json:"environments"`
	Description  string   `json:"description,omitempty"`
	Command      string   `json:"command,omitempty"`
	DependsOn    []string `json:"depends_on,omitempty"`
}

// listTasks prints the tasks of all environments, or of the one that is named.
func (a *app) listTasks(f wrapFlags, named bool) error {
	p, lock, err := a.manifest(f.lock)
	if err != nil {
		return err
	}
	if p == nil {
		return api.Errorf(api.ExitUsage, "there is no pixi manifest beside %s\nnext: hpcenv run -- COMMAND", lock)
	}
	names := append([]string{"default"}, slices.DeleteFunc(p.Environments(), func(n string) bool { return n == "default" })...)
	if named {
		names = []string{f.environment}
	}
	infos := []*taskInfo{}
	for _, env := range names {
		on, err := p.Linux(env, wrapper.HostPlatform())
		if err != nil {
			return err
		}
		tasks, err := p.Tasks(env, on)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			i := slices.IndexFunc(infos, func(i *taskInfo) bool { return i.Name == t.Name })
			if i < 0 {
				i = len(infos)
				infos = append(infos, &taskInfo{Name: t.Name, Description: t.Description, Command: commandText(t), DependsOn: dependsText(t)})
			}
			infos[i].Environments = append(infos[i].Environments, env)
		}
	}
	if a.json {
		return a.printJSON(infos)
	}
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	if len(infos) > 0 {
		fmt.Fprintln(w, "TASK\tENVIRONMENTS\tWHAT IT DOES")
	} else {
		fmt.Fprintln(a.stderr, "the manifest has no tasks")
	}
	for _, i := range infos {
		what := i.Description
		if what == "" {
			what, _, _ = strings.Cut(strings.TrimSpace(i.Command), "\n")
		}
		if what == "" {
			what = strings.Join(i.DependsOn, ", then ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", i.Name, strings.Join(i.Environments, ","), what)
	}
	return w.Flush()
}

func commandText(t *project.Task) string {
	if t.Words != nil {
		return strings.Join(t.Words, " ")
	}
	return t.Command
}

func dependsText(t *project.Task) (out []string) {
	for _, d := range t.DependsOn {
		out = append(out, d.Task)
	}
	return out
}

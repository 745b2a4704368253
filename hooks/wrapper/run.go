package wrapper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
)

const (
	// ExitNotFound: the command is not there (as with shells).
	ExitNotFound = 127
	// ExitNotRunnable: it is there but cannot be run (as with shells).
	ExitNotRunnable = 126
)

// Run makes this process the command, in the environment. It returns only if
// that failed, with the exit code to end with.
func Run(ctx context.Context, o Options, argv []string) (int, error) {
	if len(argv) == 0 {
		return api.ExitUsage, api.Errorf(api.ExitUsage, "no command to run\nnext: hpcenv run -- COMMAND [ARGUMENT…]")
	}
	return launch(ctx, o, job{Argv: argv})
}

// Shell makes this process an interactive shell in the environment: $SHELL, or
// bash. bash shows the environment's name before its prompt.
func Shell(ctx context.Context, o Options) (int, error) {
	return launch(ctx, o, job{Shell: true})
}

// Hook prints on o.Stdout the commands that activate the environment in a
// shell: bash, zsh, sh, dash, ksh, fish, tcsh or csh; "" = by $SHELL.
func Hook(ctx context.Context, o Options, shell string) (int, error) {
	o, err := o.withDefaults()
	if err != nil {
		return failed(err)
	}
	if shell == "" {
		shell = filepath.Base(getenv(o.Env, "SHELL"))
		if shell == "." || shell == "" {
			shell = "bash"
		}
	}
	// An unknown shell is said before a long preparation, not after.
	if _, err := activation.Render(shell, activation.Patch{}); err != nil {
		return api.ExitUsage, api.Errorf(api.ExitUsage, "%v\nnext: hpcenv shell-hook --shell NAME with one of these", err)
	}
	r, err := o.resolve(ctx)
	if err != nil {
		return failed(err)
	}
	there, err := attached(r.meta.Prefix)
	if err != nil {
		return failed(storeError(r.store, err))
	}
	if !there && r.group != "" {
		return failed(api.Errorf(api.ExitUnreachable, "the environment was made with a credential and is for group %s only: it is attached for single programs, not on a host, and a hook cannot attach it to a shell that runs already\nnext: hpcenv shell, or hpcenv run -- COMMAND", r.group))
	}
	if !there && r.meta.Image != nil {
		return failed(api.Errorf(api.ExitUnreachable, "the environment is an image (one file) that is not attached on this host at %s, and a hook cannot attach it to a shell that runs already\nnext: hpcenv shell, or hpcenv run -- COMMAND; where it must be a hook, have it as a tree: hpcenv prepare --delivery both in a store of your own, else the administrator's delivery: both", r.meta.Prefix))
	}
	if !there {
		return failed(api.Errorf(api.ExitUnreachable, "the environment is not attached on this host at %s, and a hook cannot attach it to a shell that runs already\nnext: hpcenv shell, or hpcenv run -- COMMAND; the administrator can bind %s there at boot", r.meta.Prefix, filepath.Join(r.store, "trees", o.Platform)))
	}
	res, err := activation.Activate(ctx, r.input(ctx, o))
	if err != nil {
		return failed(err)
	}
	printNotes(o.Stderr, res.Notes)
	code, err := activation.Render(shell, res.Patch)
	if err != nil {
		return failed(err)
	}
	if _, err := io.WriteString(o.Stdout, code); err != nil {
		return failed(fmt.Errorf("writing the hook: %w", err))
	}
	return api.ExitDone, nil
}

// job is what the launched process becomes; it travels into a namespace.
type job struct {
	// Input of the activation, without scripts' writers.
	Input activation.Input
	Argv  []string
	// Shell: an interactive shell instead of Argv.
	Shell bool
	// Check is what to check before; nil = nothing.
	Check *checking
	// Dir is the working directory by name: entering a mount namespace loses it.
	Dir string
}

func launch(ctx context.Context, o Options, j job) (int, error) {
	o, err := o.withDefaults()
	if err != nil {
		return failed(err)
	}
	r, err := o.resolve(ctx)
	if err != nil {
		return failed(err)
	}
	j.Input, j.Check = r.input(ctx, o), r.checking(o)
	there, err := attached(r.meta.Prefix)
	if err != nil {
		return failed(storeError(r.store, err))
	}
	if !there {
		return enter(ctx, o, r, j)
	}
	return j.become(ctx, o.Stderr)
}

func (r *resolved) input(ctx context.Context, o Options) activation.Input {
	return activation.Input{Env: o.Env, ID: r.meta.ID, Platform: o.Platform, Prefix: r.meta.Prefix, Static: r.meta.Activation,
		Manifest: r.manifest, EnvName: o.Environment, ActDigest: r.digest, Overlay: r.overlay, Site: r.site(ctx, o), Scripts: o.Scripts}
}

// become activates and turns this process into the job's program.
func (j job) become(ctx context.Context, stderr io.Writer) (int, error) {
	res, err := activation.Activate(ctx, j.Input)
	if err != nil {
		return failed(err)
	}
	if len(res.Patch.Ops) > 0 { // else it is active: who made it so has checked
		if err := j.Check.run(ctx, j.Input.Prefix, res.Env, stderr); err != nil {
			return failed(err)
		}
	}
	printNotes(stderr, res.Notes)
	if j.Shell {
		return DirectShell(j.Input.Prefix, res.Env, j.Input.ID)
	}
	return execute(j.Argv, res.Env, j.Input.ID)
}

// Direct becomes a program in an environment that is active already, as the
// processes of a job are in theirs; id is the environment's.
func Direct(argv, env []string, id string) (int, error) { return execute(argv, env, id) }

// DirectShell becomes an interactive shell where an environment is active already, as
// Shell does where it is not.
func DirectShell(prefix string, env []string, id string) (int, error) {
	argv, rc, err := interactive(prefix, env)
	if err != nil {
		return failed(err)
	}
	defer runtime.KeepAlive(rc) // or the shell would not inherit it
	return execute(argv, env, id)
}

// execute becomes a program; it comes back only if it failed.
func execute(argv, env []string, id string) (int, error) {
	path, err := lookPath(argv[0], getenv(env, "PATH"))
	if err != nil {
		code := ExitNotRunnable
		if errors.Is(err, fs.ErrNotExist) {
			code = ExitNotFound
		}
		return code, fmt.Errorf("%s: %w\nnext: is it spelled right, and of a package in the environment (hpcenv inspect --packages %s)? hpcenv run --list names the project's tasks", argv[0], err, id[:min(8, len(id))])
	}
	err = unix.Exec(path, argv, env)
	if errors.Is(err, unix.ENOEXEC) {
		// A script without "#!" is sh's, as execvp(3) has it.
		err = unix.Exec("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...), env)
	}
	if errors.Is(err, unix.ENOENT) {
		return ExitNotFound, fmt.Errorf("%s: %w: its interpreter is not there\nnext: look at its first line (head -1 %s)", path, err, path)
	}
	return ExitNotRunnable, fmt.Errorf("%s: cannot be run: %w\nnext: is it a program for this host's architecture? file %s", path, err, path)
}

// lookPath finds a command as a shell does, in the PATH of the environment that
// it will run in.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, runnable(name)
	}
	var blocked error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		p := filepath.Join(dir, name)
		if !strings.Contains(p, "/") {
			p = "./" + p
		}
		err := runnable(p)
		if err == nil {
			return p, nil
		}
		if errors.Is(err, fs.ErrPermission) && blocked == nil {
			blocked = err
		}
	}
	if blocked != nil {
		return "", blocked
	}
	return "", notFound{}
}

// notFound is the error for a command that PATH does not have.
type notFound struct{}

func (notFound) Error() string { return "command not found in the environment's PATH" }
func (notFound) Unwrap() error { return fs.ErrNotExist }

func runnable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory: %w", path, fs.ErrPermission)
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return fmt.Errorf("%s cannot be run: %w", path, fs.ErrPermission)
	}
	return nil
}

func getenv(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func printNotes(w io.Writer, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(w, "hpcenv: note:", n)
	}
}

// failed gives an error the exit code that it carries, or 1.
func failed(err error) (int, error) {
	var e *api.Error
	if errors.As(err, &e) && e.Code != 0 {
		return e.Code, err
	}
	return api.ExitFailed, err
}

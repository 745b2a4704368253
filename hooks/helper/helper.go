// Package helper is the program behind the SPANK shim and behind prolog and
// epilog: what the C code must not do itself.
//
// The shim starts it as `hpcenv spank VERB …` (the protocol is in package
// slurm); slurmd's scripts start it as `hpcenv slurm-hook VERB`. Verbs:
//
//	submit    as the user, on the submit side: lock → pin
//	attach    as root, on a node, empty environment: the trees appear at the prefix
//	          root, everybody's or those of a group that the user is a member of; what
//	          is there as an image only is mounted at its prefix, from this node's copy
//	          where there is one
//	open      as the user, child of attach: opens what root may not look at, and
//	          sets up the loop devices of images
//	serve     child of attach that outlives it: shows an image where the kernel cannot
//	server    child of serve: becomes the program that shows it
//	stage     as root, child of attach that may outlive it: copies an image to the node's disk
//	activate  as the user, in the first task of a node: environment changes as data
//	prolog    as root: leaves the job's pin in the run directory
//	epilog    as root: takes it away, and looks at the node if the job asked for it
//	health    as root: asks the GPUs, keeps what the node is, says in a line how it is,
//	          and tells the daemon when it changed
//	facts     as root, at boot: leaves the node's facts in the run directory
//
// Results leave on standard output as NUL-terminated records, messages for the
// user on standard error, the verdict as exit code.
package helper

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/staging"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// Deps are what the program that links this package supplies.
type Deps struct {
	// Local opens a service on a user's own store, in this process. It is asked
	// only when the store is not a cluster's.
	Local func(ctx context.Context, store string) (api.Service, error)
	// Bring is api.Client.Bring: it gets what needs the user's credentials. Nil =
	// such archives cannot be brought.
	Bring func(ctx context.Context, req *api.PrepareRequest, n api.Need, report func(api.Event)) (path string, remove func() error, err error)
}

// verdict is an error with an exit code and a message that is complete.
type verdict struct {
	code int
	err  error
}

func (v *verdict) Error() string { return v.err.Error() }
func (v *verdict) Unwrap() error { return v.err }

// refuse makes a verdict; the format must say what, where, why and what next.
func refuse(code int, format string, args ...any) error {
	return &verdict{code, fmt.Errorf(format, args...)}
}

// Main runs one verb and returns the exit code. args begins with "spank" or
// "slurm-hook".
func Main(args []string, deps Deps) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "hpcenv: this verb is for the SPANK plugin and Slurm's scripts; see `hpcenv --help` for the users' ones")
		return api.ExitUsage
	}
	ctx := context.Background()
	var err error
	label := "hpcenv: " + nodeName()
	switch args[0] + " " + args[1] {
	case "spank submit":
		return submitMain(ctx, args[2:], deps)
	case "spank attach", "spank open", "spank serve", "spank server":
		// The shim puts node and name before what attach says, and attach passes
		// on what its child open says.
		verb := map[string]func([]string) error{"attach": attach, "open": openForRoot, "serve": serve, "server": becomeServer}[args[1]]
		if err = verb(args[2:]); err != nil {
			fmt.Fprintln(plain.Writer{W: os.Stderr}, err)
		}
		return exitCode(err)
	case "spank stage":
		return staging.Copy(args[2:])
	case "spank activate":
		err = activate(ctx, args[2:], os.Stdout, os.Stderr)
	case "slurm-hook health":
		err = healthMain(ctx, args[2:], os.Stdout)
		if v, ok := err.(*verdict); ok && v.err == nil {
			return v.code // the line that was printed says all
		}
	case "slurm-hook prolog", "slurm-hook epilog":
		// A prolog that fails drains the node: say it in slurmd's log, exit 0. That the
		// node is unhealthy is another matter, if the site has it so.
		err := prologOrEpilog(ctx, args[1], args[2:])
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", label, args[1], err)
		}
		if errors.Is(err, errUnhealthy) {
			return api.ExitFailed
		}
		return api.ExitDone
	case "slurm-hook facts":
		err = writeFacts(ctx, args[2:], os.Stdout)
	default:
		err = refuse(api.ExitUsage, "unknown verb %q", args[0]+" "+args[1])
	}
	return report(os.Stderr, label, err)
}

// report prints err after a label and returns its exit code.
func report(w io.Writer, label string, err error) int {
	if err != nil {
		fmt.Fprintf(plain.Writer{W: w}, "%s: %s\n", label, strings.ReplaceAll(err.Error(), "; next: ", "\nnext: "))
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var v *verdict
	var a *api.Error
	switch {
	case err == nil:
		return api.ExitDone
	case errors.As(err, &v):
		return v.code
	case errors.As(err, &a):
		return a.Code
	}
	return api.ExitFailed
}

// nodeName is Slurm's name for this host, where Slurm tells; else what slurmd itself
// looks for in slurm.conf: the host's name without its domain.
func nodeName() string {
	if n := os.Getenv("SLURMD_NODENAME"); n != "" {
		return n
	}
	n, err := os.Hostname()
	if err != nil {
		return "this host"
	}
	n, _, _ = strings.Cut(n, ".")
	return n
}

// hostPlatform is the conda subdir of the host this program was built for; one
// static binary per architecture is installed on its nodes.
func hostPlatform() string {
	switch runtime.GOARCH {
	case "amd64":
		return "linux-64"
	case "arm64":
		return "linux-aarch64"
	default:
		return "linux-" + runtime.GOARCH
	}
}

// newFlags makes a flag set whose errors are wrong usage, not an exit.
func newFlags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return refuse(api.ExitUsage, "%s: %w; the plugin and the helper are of different versions: install them together", fs.Name(), err)
	}
	if fs.NArg() > 0 {
		return refuse(api.ExitUsage, "%s: unexpected argument %q", fs.Name(), fs.Arg(0))
	}
	return nil
}

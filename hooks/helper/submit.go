package helper

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/launch"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// defaultWait bounds how long a submission waits for its environments.
const defaultWait = 30 * time.Minute

// submission is one run of the submit verb.
type submission struct {
	context          string // sbatch, salloc or srun
	store, socket    string
	prefixRoot       string
	lock, name, wait string
	check            string // --env-check as given
	inherited        string
	step             bool
	// owner is the daemon's account; -1 = the plugin's configuration does not say.
	owner int
	// component of a heterogeneous submission, from 0.
	component int

	// timeout is wait, mode is check, parsed.
	timeout time.Duration
	mode    selection.Check
	deps    Deps
	stderr  io.Writer
	tty     bool
}

// submitMain pins a lock for a job, before Slurm gets to see the job.
func submitMain(ctx context.Context, args []string, deps Deps) int {
	s := submission{deps: deps, stderr: os.Stderr, tty: term.IsTerminal(int(os.Stderr.Fd()))}
	fl := newFlags("submit")
	fl.StringVar(&s.context, "context", "sbatch", "")
	fl.StringVar(&s.store, "store", "", "")
	fl.StringVar(&s.socket, "socket", "", "")
	fl.StringVar(&s.prefixRoot, "prefix-root", "", "")
	fl.StringVar(&s.lock, "lock", "", "")
	fl.StringVar(&s.name, "name", "", "")
	fl.StringVar(&s.wait, "wait", "", "")
	fl.StringVar(&s.inherited, "pin", "", "")
	fl.BoolVar(&s.step, "step", false, "")
	fl.StringVar(&s.check, "check", "", "")
	fl.IntVar(&s.component, "component", 0, "")
	fl.IntVar(&s.owner, "owner", -1, "")
	err := parse(fl, args)
	if err == nil {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err = s.run(ctx, os.Stdout)
	}
	return report(os.Stderr, s.context+": error: hpcenv", err)
}

func (s *submission) run(ctx context.Context, stdout io.Writer) error {
	var err error
	if s.timeout, err = parseWait(s.wait); err != nil {
		return err
	}
	if s.mode, err = selection.ParseCheck(s.check); err != nil {
		return refuse(api.ExitUsage, "%w", err)
	}
	if s.check == "" {
		site, err := launch.Site("")
		if err != nil {
			fmt.Fprintf(s.stderr, "%s: hpcenv: note: what this site checks is not known, everything is: %v\n", s.context, err)
		}
		s.mode = site.Check
	}
	if s.nested() {
		return s.runNested(ctx, stdout)
	}
	return s.choosePin(ctx, stdout)
}

// choosePin chooses what the job gets, sees that it is there, and hands the pin to the
// plugin.
func (s *submission) choosePin(ctx context.Context, stdout io.Writer) error {
	wanted, err := s.wanted(ctx)
	if err != nil {
		return err
	}
	s.adviseScript(wanted)
	store, err := s.openStore(wanted)
	if err != nil {
		return err
	}
	if err := s.wishOfPin(store, wanted); err != nil {
		return err
	}
	chosen, err := s.choose(ctx, store, wanted)
	if err != nil {
		return err
	}
	if err := s.ensure(ctx, store, chosen); err != nil {
		return err
	}
	p, err := s.pin(ctx, store, chosen)
	if err != nil {
		return err
	}
	wire, err := encodePin(p)
	if err != nil {
		return err
	}
	if !store.own {
		s.handOver(ctx, store, p, wire)
	}
	out := newRecords(stdout)
	out.put("pin", wire)
	if !s.step {
		out.put("scope", chosen.where.Carry(""))
	}
	// The shell of a heterogeneous allocation is in component 0, as a batch
	// script is.
	if s.context == "salloc" && s.component == 0 {
		s.activateShell(ctx, p, store, out)
	}
	if err := out.flush(); err != nil {
		return fmt.Errorf("handing the pin to the plugin: %w", err)
	}
	s.tell(chosen)
	return nil
}

// parseWait reads --env-wait: a Go duration, or minutes as Slurm has them.
func parseWait(s string) (time.Duration, error) {
	if s == "" {
		return defaultWait, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	if d, err := time.ParseDuration(s + "m"); err == nil && d >= 0 {
		return d, nil
	}
	return 0, refuse(api.ExitUsage, "--env-wait=%s is not a time; next: minutes (--env-wait=10) or a duration (90s, 10m, 2h)", s)
}

// notSubmitted says what a failed preparation means for the job. The cause ends
// with its own next step, on a line of its own.
type notSubmitted struct {
	lock string
	err  error
}

func (n *notSubmitted) Unwrap() error { return n.err }

func (n *notSubmitted) Error() string {
	cause, next, found := strings.Cut(strings.ReplaceAll(n.err.Error(), "; next: ", "\nnext: "), "\nnext: ")
	cause, more, lines := strings.Cut(cause, "\n")
	text := n.lock + ": " + cause + "; nothing was submitted"
	if lines {
		text += "\n" + more
	}
	if found {
		text += "\nnext: " + next
	}
	return text
}

func (s *submission) service(ctx context.Context, st *submitStore) (api.Service, error) {
	if st.own {
		if s.deps.Local == nil {
			return nil, refuse(api.ExitFailed, "this helper was built without the means to make environments; next: hpcenv prepare")
		}
		return s.deps.Local(ctx, st.root)
	}
	place, err := s.place()
	if err != nil {
		return nil, err
	}
	client, err := place.Dial(ctx)
	if err != nil {
		return nil, err
	}
	client.Bring = s.deps.Bring
	return client, nil
}

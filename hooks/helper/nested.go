package helper

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// nested tells whether this is a submission from within a job that says nothing of
// environments: it goes on with the job's lock. Its own nodes may be of other kinds than
// the job's, so what they get is chosen anew, as the job's was.
func (s *submission) nested() bool { return s.inherited != "" && s.lock == "" && s.name == "" }

// runNested is run for such a submission. Where the choice cannot be made (the daemon
// does not serve this host, or the store is not here), the job's pin is passed on as it
// is: it is right for nodes like the job's own.
func (s *submission) runNested(ctx context.Context, stdout io.Writer) error {
	p, err := pin.Decode(s.inherited)
	if err == nil && p.Plan != nil {
		if s.check == "" {
			s.mode = p.Plan.Wish.Check
		}
		err = s.choosePin(ctx, stdout)
	}
	switch {
	case err == nil && p.Plan != nil, ctx.Err() != nil:
		return err
	case exitCode(err) == api.ExitNoFit:
		return fmt.Errorf("%w; the lock is that of the surrounding job: name another with --env-lock, or unset %s for a job without one", err, pin.Variable)
	}
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		why, _, _ = strings.Cut(why, "; next: ")
		fmt.Fprintf(s.stderr, "%s: hpcenv: warning: the environment of the surrounding job goes on as it is, on nodes of other kinds it may not start: %s; next: name the lock (--env-lock) if it does not\n", s.context, why)
	}
	out := newRecords(stdout)
	out.put("pin", s.inherited)
	out.put("scope", "1")
	if err := out.flush(); err != nil {
		return fmt.Errorf("handing the pin to the plugin: %w", err)
	}
	return nil
}

// asChosen makes w what the user asked for when the surrounding job was submitted.
func (w *wanted) asChosen(p *pin.Pin) {
	if !p.Named && !w.python {
		w.name = ""
	}
}

// choiceBefore is what an inherited pin has of an environment; nil = nothing.
func (w *wanted) choiceBefore(name string) *pin.Choice {
	if w.inherited == nil {
		return nil
	}
	return w.inherited.Of(name)
}

package helper

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

// defaultWait bounds how long a submission waits for its environments.
const defaultWait = 30 * time.Minute

// submission is one run of the submit verb.
type submission struct {
	context          string // sbatch, salloc or srun
	store, socket    string
	prefixRoot       string
	lock, name, wait string
	check            string // on or off; what it switches comes with selection
	inherited        string
	step             bool
	// component of a heterogeneous submission, from 0.
	component int

	// timeout is wait, parsed.
	timeout time.Duration
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
	fl.Int("owner", -1, "")
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
	if s.check != "" && s.check != "on" && s.check != "off" {
		return refuse(api.ExitUsage, "--env-check=%s is neither on nor off; next: leave it out, or say on or off", s.check)
	}
	wanted, err := s.wanted()
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
	ready, err := s.ensure(ctx, store, wanted)
	if err != nil {
		return err
	}
	p, err := s.pin(store, wanted, ready)
	if err != nil {
		return err
	}
	if p.Overlay, err = s.overlay(ctx, store, wanted, ready); err != nil {
		return err
	}
	wire, err := p.Encode()
	if err != nil {
		return refuse(api.ExitFailed, "%w; next: shorten the path of the lock or the manifest's [activation]", err)
	}
	out := newRecords(stdout)
	out.put("pin", wire)
	// The shell of a heterogeneous allocation is in component 0, as a batch
	// script is.
	if s.context == "salloc" && s.component == 0 {
		s.activateShell(ctx, p, store, out)
	}
	if err := out.flush(); err != nil {
		return fmt.Errorf("handing the pin to the plugin: %w", err)
	}
	if s.tty && !s.step {
		fmt.Fprintf(s.stderr, "%s: hpcenv: %s (%s) ready on %s\n", s.context, wanted.name, short(wanted.digest), strings.Join(ready.platforms, " and "))
	}
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

// readiness is what the store says of the wanted environment.
type readiness struct {
	id string
	// store is where it lies: the store, or a group's part of it.
	store prepared.Store
	// platforms that are published and that the cluster has; lockPlatforms all
	// that the lock has.
	platforms, lockPlatforms []string
	missing                  []string
	// stored: the store holds the lock, and the wanted activation unless the pin
	// can carry it.
	stored bool
	// trees are the local source trees of the environment.
	trees []lockfile.SourceTree
}

// ready: nothing has to be made.
func (r *readiness) ready() bool { return r.id != "" && r.stored && len(r.missing) == 0 }

// ensure returns once the wanted environment is published for every platform of
// the cluster that the lock has. When it is already, nobody is asked.
func (s *submission) ensure(ctx context.Context, st *submitStore, w *wanted) (*readiness, error) {
	r, err := st.lookup(w)
	if err != nil {
		return nil, err
	}
	if r.ready() {
		return r, nil
	}
	if w.data == nil {
		b, err := st.lockBytes(w)
		if err != nil {
			return nil, err
		}
		w.data = b
	}
	if err := s.checkTrees(w); err != nil {
		return nil, err
	}
	err = s.prepare(ctx, st, w)
	if err != nil {
		if s.mayGoOn(r, w, err) {
			return r, nil
		}
		return nil, err
	}
	if st.platforms, err = st.inventoryPlatforms(); err != nil {
		return nil, err
	}
	r, err = st.lookup(w)
	if err != nil {
		return nil, err
	}
	if !r.ready() {
		return nil, refuse(api.ExitFailed, "%s of %s was made, but the store %s does not show it here for %s; next: check that this host and the daemon see the same storage",
			w.name, w.shown, st.root, strings.Join(r.missing, ", "))
	}
	return r, nil
}

// mayGoOn tells whether a submission whose preparation was impossible can do
// with what is there: an inner srun on a node that cannot reach the daemon and
// that has its own platform. A node of another platform refuses the step itself.
func (s *submission) mayGoOn(r *readiness, w *wanted, err error) bool {
	if exitCode(err) != api.ExitUnreachable || r.id == "" {
		return false
	}
	return s.step && r.stored && slices.Contains(r.platforms, hostPlatform())
}

// prepare asks the daemon, or this process for a user's own store, to make the
// environment, and waits for at most --env-wait.
func (s *submission) prepare(ctx context.Context, st *submitStore, w *wanted) error {
	svc, err := s.service(ctx, st)
	if err != nil {
		return err
	}
	req := &api.PrepareRequest{Lock: w.data, LockPath: w.shown, Environments: []string{w.name}}
	if w.activation != nil {
		req.Activations = map[string][]byte{w.name: w.activation}
	}
	if s.timeout == 0 {
		return refuse(api.ExitLate, "%s of %s is not prepared, and --env-wait=0 says not to wait; next: hpcenv prepare -e %s %s", w.name, w.shown, w.name, shellword.Quote(w.shown))
	}
	waiting, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	show := newProgress(s.stderr, s.context, s.tty)
	res, err := svc.Prepare(waiting, req, show.event)
	show.done()
	switch {
	case err == nil:
		for _, note := range res.Notes {
			fmt.Fprintf(s.stderr, "%s: hpcenv: note: %s\n", s.context, note)
		}
		return nil
	case errors.Is(waiting.Err(), context.DeadlineExceeded):
		return refuse(api.ExitLate, "%s of %s was not ready within %s; the daemon goes on making it; nothing was submitted; next: submit again later, or wait longer with --env-wait", w.name, w.shown, s.timeout)
	case ctx.Err() != nil:
		return refuse(api.ExitLate, "interrupted while %s of %s was being made; the daemon goes on; nothing was submitted", w.name, w.shown)
	}
	return &notSubmitted{fmt.Sprintf("%s (%s)", w.shown, short(w.digest)), err}
}

// notSubmitted says what a failed preparation means for the job. The cause ends
// with its own next step, on a line of its own.
type notSubmitted struct {
	lock string
	err  error
}

func (n *notSubmitted) Unwrap() error { return n.err }

func (n *notSubmitted) Error() string {
	cause, next, found := strings.Cut(n.err.Error(), "\nnext: ")
	text := n.lock + ": " + cause + "; nothing was submitted"
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
	client, err := api.Dial(s.socket)
	if err != nil {
		return nil, err
	}
	client.Bring = s.deps.Bring
	return client, nil
}

func (s *submission) pin(st *submitStore, w *wanted, r *readiness) (*pin.Pin, error) {
	var token [16]byte
	if _, err := rand.Read(token[:]); err != nil {
		return nil, fmt.Errorf("random token: %w", err)
	}
	p := &pin.Pin{
		Lock: w.digest, LockPath: w.shown, Environment: w.name, Named: s.name != "",
		ID: r.id, Platforms: r.lockPlatforms,
		Activation: w.actDigest,
		Step:       s.step, Token: hex.EncodeToString(token[:]),
	}
	if st.own {
		p.Store = st.root
	}
	p.Group = r.store.Group
	if w.actDigest != "" && !r.store.HasActivation(w.digest, w.actDigest) {
		if p.Inline = w.inline(); p.Inline == nil {
			return nil, refuse(api.ExitUnreachable, "the manifest's [activation] is too big to travel with the job (%d bytes) and is not in the store yet; next: hpcenv prepare", len(w.activation))
		}
	}
	return p, nil
}

// activateShell gives salloc's own shell the environment, if this host has it.
func (s *submission) activateShell(ctx context.Context, p *pin.Pin, st *submitStore, out *records) {
	pl, err := locate(p, st.root, s.prefixRoot)
	if err == nil {
		var result activation.Result
		result, err = activation.Activate(ctx, activation.Input{
			Env: os.Environ(), ID: p.ID, Platform: hostPlatform(), Prefix: pl.prefix, EnvName: p.Environment,
			Static: pl.meta.Activation, Manifest: pl.manifest, ActDigest: p.Activation, Overlay: p.OverlayDir(hostPlatform()), Scripts: activation.Options{Stderr: s.stderr},
		})
		if err == nil {
			for _, note := range result.Notes {
				fmt.Fprintf(s.stderr, "salloc: hpcenv: %s\n", note)
			}
			out.patch(result.Patch)
			return
		}
	}
	// The allocation is still worth having: its steps have the environment.
	fmt.Fprintf(s.stderr, "salloc: hpcenv: this shell itself does not get the environment, the job's steps do: %v\n", err)
}

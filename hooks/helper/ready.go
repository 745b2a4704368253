package helper

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

// readiness is what the store says of an environment.
type readiness struct {
	id string
	// store is where it lies: the store, or a group's part of it.
	store prepared.Store
	// platforms that are published of those that are needed; lockPlatforms all that
	// the lock has.
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

// ensure returns once all environments of the plan are published for the platforms
// that they are needed for. When they are already, nobody is asked. Of what had to be
// made the files may ask for more than the lock says: then another environment, or none,
// fits some nodes.
func (s *submission) ensure(ctx context.Context, st *submitStore, c *chosen) error {
	for again := true; again; {
		again = false
		for _, e := range c.environments {
			made, err := s.ensureOne(ctx, st, c, e)
			if err != nil {
				return err
			}
			again = again || made
		}
		if again { // it ends: nothing is made twice
			if err := s.replan(st, c); err != nil {
				return err
			}
		}
	}
	s.ensureDescription(ctx, st, c)
	return nil
}

// describeWithin bounds the wait for a description to be kept; all else is there.
const describeWithin = 5 * time.Second

// ensureDescription has the store keep what the lock asks of nodes, if all else was
// there before it did (made by an earlier release, or under another manifest). Only nodes
// that become something else while the job waits will look for it: that it cannot be kept
// is said, and stops nothing.
func (s *submission) ensureDescription(ctx context.Context, st *submitStore, c *chosen) {
	main := c.main()
	if s.step || s.timeout == 0 || c.digest == "" || main.store.HasDescription(main.digest, c.digest) {
		return
	}
	var err error
	if main.data == nil {
		main.data, err = st.lockBytes(main.wanted)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, describeWithin)
		defer cancel()
		err = s.prepare(ctx, st, c, main)
	}
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(s.stderr, "%s: hpcenv: note: nodes that change while the job waits may refuse it, since the store does not keep what the lock asks of nodes: %s\n", s.context, why)
	}
}

// ensureOne tells whether the environment was made for this.
func (s *submission) ensureOne(ctx context.Context, st *submitStore, c *chosen, e *environment) (made bool, err error) {
	if e.readiness, err = st.lookup(e.wanted, e.subdirs); err != nil {
		return false, err
	}
	// One choice travels in the pin with its activation; those of several lie in the
	// store.
	several := len(c.environments) > 1 && e.actDigest != "" && !e.store.HasActivation(e.digest, e.actDigest)
	if e.ready() && !several {
		return false, nil
	}
	made = len(e.missing) > 0
	if e.data == nil {
		if e.data, err = st.lockBytes(e.wanted); err != nil {
			return false, err
		}
	}
	if err := s.checkTrees(e.wanted); err != nil {
		return false, err
	}
	if err := s.prepare(ctx, st, c, e); err != nil {
		if s.mayGoOn(e.readiness, err) {
			return false, nil
		}
		return false, err
	}
	if e.readiness, err = st.lookup(e.wanted, e.subdirs); err != nil {
		return false, err
	}
	if !e.ready() {
		return false, refuse(api.ExitFailed, "%s of %s was made, but the store %s does not show it here for %s; next: check that this host and the daemon see the same storage",
			e.name, e.shown, st.root, strings.Join(e.missing, ", "))
	}
	return made, nil
}

// mayGoOn tells whether a submission whose preparation was impossible can do
// with what is there: an inner srun on a node that cannot reach the daemon and
// that has its own platform. A node of another platform refuses the step itself.
func (s *submission) mayGoOn(r *readiness, err error) bool {
	if exitCode(err) != api.ExitUnreachable || r.id == "" {
		return false
	}
	return s.step && r.stored && slices.Contains(r.platforms, hostPlatform())
}

// prepare asks the daemon, or this process for a user's own store, to make the
// environment, and waits for at most --env-wait.
func (s *submission) prepare(ctx context.Context, st *submitStore, c *chosen, e *environment) error {
	svc, err := s.service(ctx, st)
	if err != nil {
		return err
	}
	req := &api.PrepareRequest{Lock: e.data, LockPath: e.shown, Environments: []string{e.name}, Platforms: e.missing, Description: c.description}
	if len(e.missing) == 0 {
		req.Platforms = e.subdirs
	}
	if e.activation != nil {
		req.Activations = map[string][]byte{e.name: e.activation}
	}
	if s.timeout == 0 {
		return refuse(api.ExitLate, "%s of %s is not prepared, and --env-wait=0 says not to wait; next: hpcenv prepare -e %s %s", e.name, e.shown, e.name, shellword.Quote(e.shown))
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
		return refuse(api.ExitLate, "%s of %s was not ready within %s; the daemon goes on making it; nothing was submitted; next: submit again later, or wait longer with --env-wait", e.name, e.shown, s.timeout)
	case ctx.Err() != nil:
		return refuse(api.ExitLate, "interrupted while %s of %s was being made; the daemon goes on; nothing was submitted", e.name, e.shown)
	}
	return &notSubmitted{fmt.Sprintf("%s (%s)", e.shown, short(e.digest)), err}
}

// pin is what the job carries.
func (s *submission) pin(ctx context.Context, st *submitStore, c *chosen) (*pin.Pin, error) {
	var token [16]byte
	if _, err := rand.Read(token[:]); err != nil {
		return nil, fmt.Errorf("random token: %w", err)
	}
	p := &pin.Pin{Lock: c.wanted.digest, LockPath: c.wanted.shown, Named: s.name != "" || s.nested() && c.wanted.inherited.Named, Step: s.step, Token: hex.EncodeToString(token[:]), Snapshot: c.cluster.Digest, Wish: c.wanted.python}
	if st.own {
		p.Store = st.root
	}
	main := c.main()
	p.Group = main.store.Group
	for _, e := range c.environments {
		if e.store.Group != p.Group {
			return nil, refuse(api.ExitFailed, "%s (%s): the nodes of the job need %s, which only your group can read, and %s, which is everybody's; that cannot be one job yet; next: --env-name=NAME, or a job for each",
				e.shown, short(e.digest), main.name, e.name)
		}
		one, err := s.pinChoice(ctx, st, e)
		if err != nil {
			return nil, err
		}
		if e == main {
			p.Choice = *one
		} else {
			one.Inline = nil // ensureOne saw that the store has it
			p.Others = append(p.Others, *one)
		}
	}
	if c.digest != "" && main.store.HasDescription(p.Lock, c.digest) {
		p.Description = c.digest
	}
	if err := c.noteSameHost(p); err != nil {
		return nil, err
	}
	var err error
	p.Plan, err = c.plan.Pin(nil)
	return p, err
}

// encodePin is the pin as it travels. The plan of a cluster of very many kinds of node
// may have to be shortened for that; then nodes read the rest from the store.
func encodePin(p *pin.Pin) (string, error) {
	wire, err := p.Encode()
	if err == nil {
		return wire, nil
	}
	many := p.Plan != nil && p.Plan.Kinds() > manyKinds
	if many && (p.Description != "" || p.Wish) && p.Plan.Shorten() {
		if wire, err = p.Encode(); err == nil {
			return wire, nil
		}
	}
	next := "shorten the path of the lock or the manifest's [activation]"
	if many {
		next = fmt.Sprintf("the job may land on %d kinds of node: narrow it (--partition, --constraint), or name an environment (--env-name), or %s", p.Plan.Kinds(), next)
	}
	return "", refuse(api.ExitFailed, "%w; next: %s", err, next)
}

// manyKinds have a part in a pin's being too long.
const manyKinds = 50

// main is the environment that most nodes get.
func (c *chosen) main() *environment {
	count := map[string]int{}
	for i := range c.plan.Rows {
		if choice := c.plan.Rows[i].Choice; choice != nil {
			count[choice.Environment] += c.plan.Rows[i].Count
		}
	}
	return slices.MaxFunc(c.environments, func(a, b *environment) int { return count[a.name] - count[b.name] })
}

func (s *submission) pinChoice(ctx context.Context, st *submitStore, e *environment) (*pin.Choice, error) {
	one := &pin.Choice{Environment: e.name, ID: e.id, Platforms: e.lockPlatforms, Activation: e.actDigest}
	if e.actDigest != "" && !e.store.HasActivation(e.digest, e.actDigest) {
		if one.Inline = e.inline(); one.Inline == nil {
			return nil, refuse(api.ExitUnreachable, "the manifest's [activation] is too big to travel with the job (%d bytes) and is not in the store yet; next: hpcenv prepare", len(e.activation))
		}
	}
	var err error
	one.Overlay, err = s.overlay(ctx, st, e.wanted, e.readiness)
	return one, err
}

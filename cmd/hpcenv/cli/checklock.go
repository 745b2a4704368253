//go:build linux

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/checkup"
	"github.com/hpcenv/hpcenv/hooks/helper"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/preflight"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

// inJob is the environment of the job that this process is part of.
type inJob struct {
	name, id, platform string
	pin                *pin.Pin
}

// activeInJob is the environment that a job has active here; nil = none.
func (a *app) activeInJob() *inJob {
	p, err := pin.Decode(a.getenv(pin.Variable))
	id, platform, _, active := activation.Active(os.Environ())
	if err != nil || !active {
		return nil
	}
	for _, c := range append([]pin.Choice{p.Choice}, p.Others...) {
		if c.ID == id {
			platform, _, _ = strings.Cut(platform, "+") // what else is this node's own
			return &inJob{name: c.Environment, id: id, platform: platform, pin: p}
		}
	}
	return nil
}

// checkActive checks the job's own environment.
func (a *app) checkActive(ctx context.Context, r *checkResult, j *inJob) error {
	conf, err := a.conf()
	if err != nil {
		return err
	}
	store := prepared.Store{Root: j.pin.Within(conf.Store)}
	found, err := checkup.FindID(store, j.id, j.platform)
	if err != nil {
		return storeUnread(store.Root, err)
	}
	r.Lock = j.pin.LockPath
	if err := r.ofPin(conf.Store, j.pin); err != nil {
		return err
	}
	one := &checked{Name: j.name, Platform: j.platform, ID: j.id, Chosen: true, Because: "it is the job's", Delivered: a.getenv(helper.DeliveredName)}
	r.Checked = append(r.Checked, one)
	return a.checkOne(ctx, r, one, found, nil, nil)
}

// ofPin takes over what a job was submitted with: its launches are judged by that.
func (r *checkResult) ofPin(root string, p *pin.Pin) (err error) {
	if p.Plan == nil {
		return nil
	}
	r.wish = p.Plan.Wish
	if r.rules, err = planning.ReadRules(root, p.Plan.Rules); err != nil {
		return storeUnread(root, err)
	}
	return nil
}

// checkID checks an environment of the store.
func (a *app) checkID(ctx context.Context, r *checkResult, arg string) error {
	svc, err := a.reader()
	if err != nil {
		return err
	}
	d, err := svc.Inspect(ctx, arg)
	if err != nil {
		return err
	}
	st, err := svc.Status(ctx)
	if err != nil {
		return err
	}
	one := &checked{Name: d.Platforms[0].Name, ID: d.ID, Platform: r.Facts.Platform}
	r.Checked = append(r.Checked, one)
	var has []string
	for _, p := range d.Platforms {
		has = append(has, p.Platform)
	}
	if !slices.Contains(has, one.Platform) {
		one.otherPlatform(r.Host, has, "hpcenv prepare of a lock that has the platform, on any host")
		return nil
	}
	found, err := checkup.FindID(prepared.Store{Root: st.Store}, d.ID, one.Platform)
	if err != nil {
		return storeUnread(st.Store, err)
	}
	return a.checkOne(ctx, r, one, found, nil, nil)
}

// checkLock checks one environment of a lock, or all.
func (a *app) checkLock(ctx context.Context, r *checkResult, c *planning.Cluster, path string, f checkFlags) error {
	var named []string
	if f.environment != "" {
		named = []string{f.environment}
	}
	req, err := a.request(path, named, f.all)
	if err != nil {
		return err
	}
	r.Lock = req.LockPath
	d, err := a.described(req)
	if err != nil {
		return err
	}
	names, chooses := req.Environments, d != nil && f.environment == ""
	if d == nil {
		d = &planning.Description{}
		for _, wish := range req.Environments {
			d.Environments = append(d.Environments, planning.OfWish(wish, []string{r.Facts.Platform}).Environments...)
		}
	}
	if f.all {
		names = d.Names()
	}
	var row *selection.Row
	if chooses {
		var why *selection.Error
		if row, why, err = a.gets(req, d, c, r.wish, r.Facts, r.Node); err != nil {
			return err
		}
		switch {
		case why != nil:
			r.Problem = why.Sentence()
			names = d.Names() // each says what is in its way
		case len(names) == 0:
			names = []string{row.Choice.Environment}
		}
	}
	for _, name := range names {
		env := d.Environment(name)
		if env == nil {
			return api.Errorf(api.ExitUsage, "%s has no environment %q\nnext: -e with one of %s", req.LockPath, name, strings.Join(d.Names(), ", "))
		}
		one := &checked{Name: name}
		if row != nil && r.Problem == "" && row.Choice != nil && row.Choice.Environment == name {
			one.Chosen, one.Because = true, row.Because
		}
		r.Checked = append(r.Checked, one)
		if err := a.checkNamed(ctx, r, one, req, env, row); err != nil {
			return err
		}
	}
	r.sort()
	return a.checkNext(ctx, r, req, d, f)
}

// checkNamed checks one environment of a lock.
func (a *app) checkNamed(ctx context.Context, r *checkResult, one *checked, req *api.PrepareRequest, env *selection.Environment, row *selection.Row) error {
	var cand *selection.Candidate
	var has []string
	for i := range env.Platforms {
		c := &env.Platforms[i]
		has = append(has, c.Subdir)
		taken := row == nil || row.Choice == nil || row.Choice.Environment != env.Name || row.Choice.Platform == c.Platform
		if c.Subdir == r.Facts.Platform && taken && cand == nil {
			cand = c
		}
	}
	one.Platform = r.Facts.Platform
	if cand == nil {
		one.otherPlatform(r.Host, slices.Compact(has), lockfile.FormatOf("", req.Lock).AddPlatform(r.Facts.Platform))
		return nil
	}
	if cand.Problem != "" {
		one.set([]preflight.Finding{{ID: "lock", Level: preflight.Unfit, Evidence: "cannot be made: " + cand.Problem, Next: "hpcenv inspect shows what the lock has", Act: preflight.User}})
		return nil
	}
	conf, err := a.conf()
	if err != nil {
		return err
	}
	var found *checkup.Prepared
	if conf.Store != "" {
		if found, err = checkup.FindNamed(prepared.Store{Root: conf.Store}, lockDigest(req.Lock), env.Name, cand.Subdir); err != nil {
			return storeUnread(conf.Store, err)
		}
	}
	manifest, err := a.activations([]string{env.Name})
	if err != nil {
		return err
	}
	return a.checkOne(ctx, r, one, found, cand, manifest[env.Name])
}

// checkOne makes the checks. found is what a store has of the environment, cand what
// the lock has; either may be nil.
func (a *app) checkOne(ctx context.Context, r *checkResult, one *checked, found *checkup.Prepared, cand *selection.Candidate, manifest []byte) error {
	e := checkup.Environment{Env: os.LookupEnv, Override: r.wish.Override, CUDA: r.rules.CUDA()}
	if cand != nil {
		locked := &needs.Needs{Version: needs.Version, Stack: cand.Stack}
		for _, q := range cand.Requirements {
			if q.Source == requirement.Manifest {
				e.Manifest = append(e.Manifest, q)
			} else {
				locked.Locked = append(locked.Locked, q)
			}
		}
		e.Needs = locked
	}
	if found == nil {
		one.Notes = append(one.Notes, "it is not prepared for this host: what its files need was not looked at (hpcenv prepare)")
	} else {
		one.Prepared, one.ID, one.Prefix = true, found.Meta.ID, found.Meta.Prefix
		e.Prefix = found.Meta.Prefix
		if found.Needs != nil {
			e.Needs = found.Needs
		} else {
			one.Notes = append(one.Notes, found.NeedsProblem+" (hpcenv prepare)")
		}
		var notes []string
		var err error
		if e.Env, notes, err = found.Variables(ctx, os.Environ(), one.Name, manifest, r.Host.Facts.ActiveNetworks()); err != nil {
			return err
		}
		one.Notes = append(one.Notes, notes...)
	}
	report := r.Host.Check(ctx, e)
	one.elsewhere = report.Elsewhere
	one.set(report.At(preflight.Fits))
	return nil
}

// set takes findings, the worst first.
func (c *checked) set(findings []preflight.Finding) {
	c.Findings = append([]preflight.Finding{}, findings...)
	c.Verdict = (&preflight.Report{Findings: findings}).Level()
}

// otherPlatform is the verdict on what there is for other nodes only.
func (c *checked) otherPlatform(host *checkup.Host, has []string, next string) {
	is := host.Facts.Platform
	if is == "" {
		is = host.Facts.Machine + ", of which no lock has anything"
	}
	c.set([]preflight.Finding{{ID: "platform", Level: preflight.Unfit, Evidence: fmt.Sprintf("is %s; there is something for %s", is, strings.Join(has, ", ")), Next: next, Act: preflight.User}})
}

// checkNext finds what to go on with.
func (a *app) checkNext(ctx context.Context, r *checkResult, req *api.PrepareRequest, d *planning.Description, f checkFlags) error {
	lock := ""
	if where := a.fromHere(req.LockPath); where != "." {
		lock = " " + shellword.Quote(where)
	}
	first := r.Checked[0]
	switch {
	case !f.all && len(r.Checked) == 1 && !first.can():
		for i := range d.Environments {
			env := &d.Environments[i]
			other := &checked{Name: env.Name}
			if env.Name == first.Name {
				continue
			}
			if err := a.checkNamed(ctx, r, other, req, env, nil); err != nil {
				return err
			}
			if other.can() {
				r.Next = append(r.Next, fmt.Sprintf("-e %s, which fits this node", shellword.Quote(env.Name)))
			}
		}
		r.Next = append(r.Next, "hpcenv plan"+lock+" shows what other nodes get")
	case slices.ContainsFunc(r.Checked, func(c *checked) bool { return c.can() && !c.Prepared }):
		next := "hpcenv prepare" + lock
		if f.environment != "" {
			next += " -e " + shellword.Quote(f.environment)
		}
		r.Next = append(r.Next, next)
	case r.Problem == "" && first.can():
		next := "hpcenv smoke --here" + lock
		if f.environment != "" {
			next += " -e " + shellword.Quote(f.environment)
		}
		r.Next = append(r.Next, next+" tries its modules on this host")
	default:
		r.Next = append(r.Next, "hpcenv plan"+lock+" shows what other nodes get")
	}
	return nil
}

func storeUnread(store string, err error) error {
	return api.Errorf(api.ExitUnreachable, "store %s: %v\nnext: is it mounted on this host, and at this path? HPCENV_STORE or /etc/hpcenv/hpcenv.conf (store = PATH) names it", filepath.Clean(store), err)
}

package helper

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/handover"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// earlier is what --env-lock=@NAME and --env-lock=job:ID name: a lock that the store has,
// with what the manifest said then. ok is false of all else, which are paths.
func (s *submission) earlier(ctx context.Context) (w *wanted, ok bool, err error) {
	if name, is := strings.CutPrefix(s.lock, "@"); is {
		w, err = s.wantedOfName(name)
		return w, true, err
	}
	if text, is := strings.CutPrefix(s.lock, "job:"); is {
		text, _, _ = strings.Cut(text, "_") // an element of an array is the array
		if id, err := strconv.Atoi(text); err == nil && id > 0 {
			w, err = s.wantedOfJob(ctx, id)
			return w, true, err
		}
	}
	return nil, false, nil
}

// wantedOfName is what an administrator gave a name.
func (s *submission) wantedOfName(name string) (*wanted, error) {
	if s.store == "" {
		return nil, refuse(api.ExitUsage, "--env-lock=@%s: names are of a cluster's store, and none is configured on this host; next: name the lock's path (./@%s, if it is one)", name, name)
	}
	n, err := handover.ReadName(s.store, name)
	switch {
	case errors.Is(err, handover.ErrName):
		return nil, refuse(api.ExitUsage, "--env-lock=@%s: %w", name, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(api.ExitUsage, "--env-lock=@%s: the store has no such name; next: ls %s/names shows them; ask the administrator for one (hpcenv admin pin)", name, s.store)
	case err != nil:
		return nil, refuse(api.ExitUnreachable, "--env-lock=@%s: %w", name, err)
	}
	p := &pin.Pin{Lock: n.Lock, LockPath: n.LockPath, Description: n.Description}
	for i, env := range slices.Sorted(maps.Keys(n.Environments)) {
		one := pin.Choice{Environment: env, ID: n.Environments[env], Activation: n.Activations[env]}
		if i == 0 {
			p.Choice = one
		} else {
			p.Others = append(p.Others, one)
		}
	}
	if s.name != "" && !n.Wish && p.Of(s.name) == nil {
		return nil, refuse(api.ExitUsage, "@%s has no environment %q; it has: %s; next: --env-name=NAME with one of these", name, s.name, strings.Join(slices.Sorted(maps.Keys(n.Environments)), ", "))
	}
	w := &wanted{shown: "@" + name, digest: n.Lock, name: s.name, before: p.Environment, inherited: p}
	if n.Wish && s.name == "" {
		if len(n.Environments) > 1 {
			return nil, refuse(api.ExitUsage, "@%s has several environments: %s; next: --env-name=NAME with one of these", name, strings.Join(slices.Sorted(maps.Keys(n.Environments)), ", "))
		}
		w.name, w.python = p.Environment, true
	}
	return w, nil
}

// wantedOfJob is what a job of the user's had, chosen anew for the nodes of this one.
func (s *submission) wantedOfJob(ctx context.Context, id int) (*wanted, error) {
	place, err := s.place()
	if err != nil {
		return nil, err
	}
	client, err := place.Dial(ctx)
	if err != nil {
		return nil, err
	}
	j, err := client.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := pin.Decode(j.Pin)
	if err != nil {
		return nil, refuse(api.ExitFailed, "--env-lock=job:%d: what it had is of another release of hpcenv: %w; next: name the lock's path (%s)", id, err, j.Lease.LockPath)
	}
	w := &wanted{shown: p.LockPath, digest: p.Lock, before: p.Environment, group: p.Group, inherited: p, name: s.name}
	if s.name == "" && (p.Named || p.Wish) {
		w.name = p.Environment
	}
	w.python = p.Wish && s.name == ""
	return w, nil
}

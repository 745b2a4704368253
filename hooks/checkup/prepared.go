package checkup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/launch"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// Prepared is an environment that a store has for a platform.
type Prepared struct {
	Meta *materialize.Meta
	// Needs of it; nil = not known, and NeedsProblem says why.
	Needs        *needs.Needs
	NeedsProblem string
	// Built is what the site built for it, and Store where it lies.
	Built *sitebuild.Record
	Store string
}

// FindNamed looks an environment of a lock up, in the store and in those parts of it
// that this process may read. Nil and no error: it is not prepared for the platform.
func FindNamed(store prepared.Store, lockDigest, name, platform string) (*Prepared, error) {
	return find(store, func(s prepared.Store) (*materialize.Meta, error) {
		env, err := s.Environment(lockDigest, name)
		var unknown *prepared.UnknownEnvironmentError
		if errors.As(err, &unknown) || err == nil && env == nil {
			return nil, fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
		return s.Published(env, platform)
	})
}

// FindID is FindNamed for an id.
func FindID(store prepared.Store, id, platform string) (*Prepared, error) {
	return find(store, func(s prepared.Store) (*materialize.Meta, error) { return s.Meta(id, platform) })
}

func find(store prepared.Store, look func(prepared.Store) (*materialize.Meta, error)) (*Prepared, error) {
	parts, err := store.Parts()
	if err != nil {
		return nil, err
	}
	for _, s := range append([]prepared.Store{store}, parts...) {
		m, err := look(s)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && s.Group != "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		p := &Prepared{Meta: m, Store: s.Root}
		if p.Built, err = s.SiteBuilds(m.ID, m.Platform); err != nil {
			return nil, err
		}
		p.Needs, err = s.Needs(m.ID, m.Platform)
		switch {
		case errors.Is(err, needs.ErrNone):
			p.NeedsProblem = needs.ErrNone.Error()
		case err != nil:
			p.NeedsProblem = err.Error()
		}
		return p, nil
	}
	return nil, nil
}

// Variables are those of a program in an environment, as far as they are known
// without running its activation scripts; notes say what is not. Where it is active
// already they are this process's own. networks are the kinds that are active on this
// node, which what the site built may be for.
func (p *Prepared) Variables(ctx context.Context, environ []string, name string, manifest []byte, networks []string) (lookup func(string) (string, bool), notes []string, err error) {
	list, m := environ, p.Meta
	site := p.Built.Choose(func() []string { return networks })
	for _, e := range site.Lacking {
		notes = append(notes, sitebuild.Problem(e, p.Store, m.Platform))
	}
	if id, _, _, active := activation.Active(environ); !active || id != m.ID {
		in := activation.Input{Env: environ, ID: m.ID, Platform: m.Platform, Prefix: m.Prefix, Static: m.Activation, EnvName: name, Site: site.Ops(m.Prefix)}
		scripts := len(in.Static.Scripts) > 0
		in.Static.Scripts = nil
		if len(manifest) > 0 {
			in.Manifest = new(activation.Manifest)
			if err := json.Unmarshal(manifest, in.Manifest); err != nil {
				return nil, nil, fmt.Errorf("activation of environment %s: %w", name, err)
			}
			scripts = scripts || len(in.Manifest.Scripts) > 0
			in.Manifest.Scripts = nil
		}
		res, err := activation.Activate(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		list = res.Env
		if scripts {
			notes = append(notes, "its activation scripts were not run here: variables that they set are not known")
		}
	}
	return launch.Lookup(list), notes, nil
}

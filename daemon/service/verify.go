package service

import (
	"context"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// Verify reads the trees and images of one environment, by id or unambiguous prefix
// of it, and compares them with what they should be. It needs no daemon and writes
// nothing; differences are no error.
func (s *Service) Verify(ctx context.Context, id string) (*api.Verification, error) {
	parts, err := s.parts(nil)
	if err != nil {
		return nil, err
	}
	metas, err := one(ctx, parts, id)
	if err != nil {
		return nil, err
	}
	out := &api.Verification{ID: metas[0].ID, Same: true}
	for _, m := range metas {
		all, err := prepare.VerifyAll(ctx, m.in, m.Meta)
		if err != nil {
			return nil, err
		}
		overlays, err := sitebuild.Verify(ctx, m.in, m.ID, m.Platform)
		if err != nil {
			return nil, err
		}
		for i, v := range all {
			p := verified(m.Meta, v)
			if i == 0 { // they are the environment's, in whatever form it is published
				p.Damage, p.Same = append(p.Damage, overlays...), p.Same && len(overlays) == 0
			}
			out.Same = out.Same && p.Same
			out.Platforms = append(out.Platforms, p)
		}
	}
	return out, nil
}

func verified(m *materialize.Meta, v *prepare.Verification) api.VerifiedPlatform {
	p := api.VerifiedPlatform{
		Platform: m.Platform, Environment: m.Environment, Delivery: string(v.Delivery), Tree: v.Root, Same: v.Same(), TreeDigest: v.TreeDigest,
		MetaDigest: v.MetaDigest, PlanDigest: v.PlanDigest, Unknown: v.Unknown, NoPlan: v.NoPlan, Differences: []api.Difference{}, Damage: v.Damage,
	}
	for _, d := range v.Differences {
		p.Differences = append(p.Differences, api.Difference(d))
	}
	return p
}

package service

import (
	"context"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/budget"
	"github.com/hpcenv/hpcenv/envs/prepare"
)

// UseBudgets bounds what is made for whom; before the Service is used.
func (s *Service) UseBudgets(k *budget.Keeper) { s.budgets = k }

// bounded is deps with the budgets that count for who asks; in a user's own process there
// are none.
func (s *Service) bounded(deps *prepare.Deps, req *api.PrepareRequest) *prepare.Deps {
	keeper := s.budgets
	if keeper == nil {
		return deps
	}
	who := budget.Who{UID: req.UID, GID: req.Group}
	out := *deps
	out.Allow = func(ctx context.Context, w prepare.Want) error {
		want := budget.Want{Bytes: w.Bytes}
		for _, p := range w.Packages {
			want.Packages = append(want.Packages, budget.Package(p))
		}
		return keeper.Allow(ctx, who, want)
	}
	slot := deps.Slot
	out.Slot = func(ctx context.Context, wait func()) (func(), error) {
		mine, err := keeper.Slot(ctx, who, wait)
		if err != nil {
			return nil, err
		}
		all, err := slot(ctx, wait)
		if err != nil {
			mine()
			return nil, err
		}
		return func() { all(); mine() }, nil
	}
	return &out
}

package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/inventory"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
)

// clusterPlatforms is prepare's question.
func (s *Service) clusterPlatforms(ctx context.Context) (platforms, notes []string, err error) {
	var inv *snapshot.Snapshot
	var note string
	if s.opts.Inventory != nil {
		inv, note, err = s.opts.Inventory.Current(ctx)
	} else {
		inv, _, err = inventory.Read(s.opts.Store)
	}
	if err != nil {
		return nil, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	return slices.Sorted(maps.Keys(inv.Platforms())), notes, nil
}

// knownPlatforms is clusterPlatforms without asking Slurm, which would be over
// the network.
func (s *Service) knownPlatforms(context.Context) (platforms, notes []string, err error) {
	var inv *snapshot.Snapshot
	var note string
	if s.opts.Inventory != nil {
		inv, note, err = s.opts.Inventory.Known()
	} else {
		inv, _, err = inventory.Read(s.opts.Store)
	}
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil, fmt.Errorf("Slurm has not been asked for its nodes yet, and is not (offline): %w", err)
	}
	if err != nil {
		return nil, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	return slices.Sorted(maps.Keys(inv.Platforms())), notes, nil
}

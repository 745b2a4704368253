package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// List implements api.Service.
func (s *Service) List(ctx context.Context) ([]api.Environment, error) {
	metas, err := s.published(ctx, "")
	if err != nil {
		return nil, err
	}
	envs := make([]api.Environment, 0, len(metas))
	for _, m := range metas {
		envs = append(envs, s.environment(m))
	}
	slices.SortStableFunc(envs, func(a, b api.Environment) int {
		return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Platform, b.Platform))
	})
	return envs, nil
}

// Inspect implements api.Service.
func (s *Service) Inspect(ctx context.Context, id string) (*api.EnvironmentDetail, error) {
	metas, err := s.one(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &api.EnvironmentDetail{ID: metas[0].ID}
	for _, m := range metas {
		out.Platforms = append(out.Platforms, s.detail(m))
	}
	return out, nil
}

// one reads what is known of the one environment whose id begins so, for each
// platform that it is published for.
func (s *Service) one(ctx context.Context, id string) ([]*materialize.Meta, error) {
	if id == "" || len(id) > 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, api.Errorf(api.ExitUsage, "%q is not an environment id (up to 32 of 0-9 a-f)\nnext: hpcenv list", id)
	}
	metas, err := s.published(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(metas) == 0 {
		return nil, api.Errorf(api.ExitUsage, "no environment has the id %s\nnext: hpcenv list", id)
	}
	for _, m := range metas {
		if m.ID != metas[0].ID {
			return nil, api.Errorf(api.ExitUsage, "several environments begin with %s, e.g. %s and %s\nnext: give more digits", id, metas[0].ID, m.ID)
		}
	}
	return metas, nil
}

func (s *Service) detail(m *materialize.Meta) api.PlatformDetail {
	d := api.PlatformDetail{
		Environment: s.environment(m), PackageList: make([]api.Package, 0, len(m.Packages)),
		SkippedScripts: m.SkippedScripts, Scripts: m.Scripts, Degraded: m.Degraded, Notes: m.Notes,
	}
	for _, p := range m.Packages {
		p.URL = lockfile.RedactURL(p.URL)
		d.PackageList = append(d.PackageList, p)
	}
	d.Conflicts = conflicts(m.Conflicts)
	d.ByteCode = byteCode(m)
	return d
}

// byteCode tells of an environment's compiled files; nil = it has no python.
func byteCode(m *materialize.Meta) *api.ByteCode {
	if m.ByteCode != nil {
		return m.ByteCode
	}
	if !slices.ContainsFunc(m.Packages, func(p materialize.MetaPackage) bool { return p.Name == "python" }) {
		return nil
	}
	return &api.ByteCode{Skipped: "switched off (byte_code), or no sandbox, when it was made"}
}

// conflicts in one line each.
func conflicts(cs []materialize.Conflict) (lines []string) {
	for _, c := range cs {
		lines = append(lines, fmt.Sprintf("%s: from %s, not from %s", c.Path, c.Winner, strings.Join(c.Losers, ", ")))
	}
	return lines
}

// environment is a Meta in the API's form.
func (s *Service) environment(m *materialize.Meta) api.Environment {
	e := api.Environment{
		ID: m.ID, Name: m.Environment, Platform: m.Platform, LockDigest: m.LockDigest, Prefix: m.Prefix, TreeDigest: m.TreeDigest,
		Packages: len(m.Packages), Files: m.Files, Bytes: m.Bytes, Cost: m.Cost,
	}
	// The tree's own times are fixed; its description was written when it was made.
	if st, err := os.Stat(s.opts.Store.MetaPath(m.ID, m.Platform)); err == nil {
		e.Created = st.ModTime().UTC().Format(time.RFC3339)
	}
	return e
}

// published reads what is known of all published environments whose id begins
// so, sorted by id and platform.
func (s *Service) published(ctx context.Context, idPrefix string) ([]*materialize.Meta, error) {
	if s.opts.Store == nil {
		return nil, nil
	}
	var out []*materialize.Meta
	for _, platform := range s.opts.Store.Format().Platforms {
		dir := filepath.Join(s.opts.Store.Root(), "trees", platform)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: list %s: %w", cache.ErrStore, dir, err)
		}
		for _, e := range entries {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			id := e.Name()
			if !e.IsDir() || !strings.HasPrefix(id, idPrefix) {
				continue
			}
			m, err := materialize.Published(s.opts.Store, id, platform)
			if errors.Is(err, cache.ErrNotFound) {
				continue // removed meanwhile
			}
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *materialize.Meta) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Platform, b.Platform))
	})
	return out, nil
}

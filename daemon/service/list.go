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
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// List implements api.Service: what this process may read is there.
func (s *Service) List(ctx context.Context) ([]api.Environment, error) {
	parts, err := s.parts(nil)
	if err != nil {
		return nil, err
	}
	return list(ctx, parts)
}

// parts are the store and those of its parts that this process, or who is a member
// of these groups, may read.
func (s *Service) parts(groups *[]int) ([]*cache.Store, error) {
	if s.opts.Store == nil {
		return nil, nil
	}
	parts, err := s.opts.Store.Parts()
	if err != nil {
		return nil, err
	}
	out := []*cache.Store{s.opts.Store}
	for _, part := range parts {
		gid, _ := part.Group()
		if groups == nil || slices.Contains(*groups, gid) {
			out = append(out, part)
		}
	}
	return out, nil
}

func list(ctx context.Context, parts []*cache.Store) ([]api.Environment, error) {
	metas, err := published(ctx, parts, "")
	if err != nil {
		return nil, err
	}
	envs := make([]api.Environment, 0, len(metas))
	for _, m := range metas {
		envs = append(envs, environment(m))
	}
	slices.SortStableFunc(envs, func(a, b api.Environment) int {
		return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Platform, b.Platform))
	})
	return envs, nil
}

// Inspect implements api.Service.
func (s *Service) Inspect(ctx context.Context, id string) (*api.EnvironmentDetail, error) {
	parts, err := s.parts(nil)
	if err != nil {
		return nil, err
	}
	return inspect(ctx, parts, id)
}

// InspectFor is Inspect for a member of these groups.
func (s *Service) InspectFor(ctx context.Context, groups []int, id string) (*api.EnvironmentDetail, error) {
	parts, err := s.parts(&groups)
	if err != nil {
		return nil, err
	}
	return inspect(ctx, parts, id)
}

func inspect(ctx context.Context, parts []*cache.Store, id string) (*api.EnvironmentDetail, error) {
	metas, err := one(ctx, parts, id)
	if err != nil {
		return nil, err
	}
	out := &api.EnvironmentDetail{ID: metas[0].ID}
	for i, m := range metas {
		// One id is one content: the first that has a platform tells of all.
		if i == 0 || m.Platform != metas[i-1].Platform {
			d := detail(m)
			if d.SiteBuilds, err = buildsOf(m); err != nil {
				return nil, err
			}
			out.Platforms = append(out.Platforms, d)
		}
	}
	return out, nil
}

// one reads what is known of the one environment whose id begins so, for each
// platform that it is published for, in each part that has it.
func one(ctx context.Context, parts []*cache.Store, id string) ([]described, error) {
	if id == "" || len(id) > 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, api.Errorf(api.ExitUsage, "%q is not an environment id (up to 32 of 0-9 a-f)\nnext: hpcenv list", id)
	}
	metas, err := published(ctx, parts, id)
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

func detail(m described) api.PlatformDetail {
	d := api.PlatformDetail{
		Environment: environment(m), PackageList: make([]api.Package, 0, len(m.Packages)),
		SkippedScripts: m.SkippedScripts, Scripts: m.Scripts, Degraded: m.Degraded, Notes: m.Notes,
	}
	for _, p := range m.Packages {
		p.URL = lockfile.RedactURL(p.URL)
		d.PackageList = append(d.PackageList, p)
	}
	if m.Delivered.WantsImage() {
		d.Image = m.Image
	}
	d.Conflicts = conflicts(m.Conflicts)
	d.ByteCode = byteCode(m.Meta)
	d.Needs, d.NeedsUnknown = needsOf(m)
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

// described is an environment's description and where it lies.
type described struct {
	*materialize.Meta
	in *cache.Store
}

// environment is a Meta in the API's form.
func environment(m described) api.Environment {
	e := api.Environment{
		ID: m.ID, Name: m.Environment, Platform: m.Platform, LockDigest: m.LockDigest, Prefix: m.Prefix, TreeDigest: m.TreeDigest,
		Packages: len(m.Packages), Files: m.Files, Bytes: m.Bytes, Cost: m.Cost, Deliveries: []string{},
	}
	if m.Delivered.WantsTree() {
		e.Deliveries = append(e.Deliveries, string(image.Tree))
	}
	if m.Delivered.WantsImage() {
		e.Deliveries, e.ImageBytes = append(e.Deliveries, string(image.Image)), m.Image.Size
	}
	// The tree's own times are fixed; its description was written when it was made.
	if st, err := os.Stat(m.in.MetaPath(m.ID, m.Platform)); err == nil {
		e.Created = st.ModTime().UTC().Format(time.RFC3339)
	}
	if gid, ok := m.in.Group(); ok {
		e.Group = &gid
	}
	return e
}

// published reads what is known of all published environments whose id begins
// so, sorted by id and platform; of one that several parts have, in their order.
func published(ctx context.Context, parts []*cache.Store, idPrefix string) ([]described, error) {
	var out []described
	for _, part := range parts {
		found, err := publishedIn(ctx, part, idPrefix)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.SortStableFunc(out, func(a, b described) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Platform, b.Platform))
	})
	return out, nil
}

// idsIn are the names below which trees and images of a platform are published, each
// once and sorted.
func idsIn(store *cache.Store, platform string) (ids []string, err error) {
	for _, dir := range []string{filepath.Dir(store.TreePath(platform, "id")), filepath.Dir(store.ImagePath(platform, "id"))} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: list %s: %w", cache.ErrStore, dir, err)
		}
		for _, e := range entries {
			name, isImage := strings.CutSuffix(e.Name(), cache.ImageSuffix)
			if e.IsDir() != isImage {
				ids = append(ids, name)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func publishedIn(ctx context.Context, store *cache.Store, idPrefix string) ([]described, error) {
	var out []described
	for _, platform := range store.Format().Platforms {
		ids, err := idsIn(store, platform)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if !strings.HasPrefix(id, idPrefix) {
				continue
			}
			m, err := materialize.Published(store, id, platform)
			if errors.Is(err, cache.ErrNotFound) {
				continue // removed meanwhile
			}
			if err != nil && sitebuild.IsOverlay(store, id, platform) {
				continue // no environment, but what the site built for one
			}
			if err != nil {
				return nil, err
			}
			out = append(out, described{m, store})
		}
	}
	return out, nil
}

package prepare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// Verification is what a published tree or image is, and what it should be.
type Verification struct {
	// Delivery is which of the two (image.Tree or image.Image), and Root the directory
	// or file that was read.
	Delivery image.Delivery
	Root     string
	// TreeDigest of what was read, and MetaDigest that its description has.
	TreeDigest, MetaDigest string
	// PlanDigest is what the lock and its packages make of it; empty if that
	// could not be found out, and NoPlan says why, or if Unknown files are
	// planned whose content only a compiler could tell (byte-code of sources
	// that take their prefix apart): for those MetaDigest alone speaks.
	PlanDigest, NoPlan string
	Unknown            int
	// Differences of the tree from the plan, sorted by path, and those in who may
	// read and write.
	Differences []materialize.Difference
	// Damage to the pool, to the image as a file, and to the description that was found on the way,
	// one line each.
	Damage []string
}

// Same tells whether the tree is what it should be, as far as is known.
func (v *Verification) Same() bool {
	return v.TreeDigest == v.MetaDigest && len(v.Differences) == 0 && len(v.Damage) == 0
}

// Verify reads all of a published environment and compares it with its description
// and with the plan, which is made anew from the kept lock: its tree, or the image
// if there is no tree. It writes nothing in the store: whoever can read the store
// can verify.
func Verify(ctx context.Context, store *cache.Store, meta *materialize.Meta) (*Verification, error) {
	plan, noPlan := planAgain(store, meta)
	if meta.Delivered.WantsTree() {
		return verifyTree(ctx, store, meta, plan, noPlan)
	}
	return verifyImage(ctx, store, meta, plan, noPlan)
}

// VerifyAll is Verify for each form in which an environment is published.
func VerifyAll(ctx context.Context, store *cache.Store, meta *materialize.Meta) ([]*Verification, error) {
	v, err := Verify(ctx, store, meta)
	if err != nil {
		return nil, err
	}
	out := []*Verification{v}
	if meta.Delivered == image.Both {
		only := *meta
		only.Delivered = image.Image
		if v, err = Verify(ctx, store, &only); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func verifyTree(ctx context.Context, store *cache.Store, meta *materialize.Meta, plan *materialize.Plan, noPlan error) (*Verification, error) {
	v := &Verification{Delivery: image.Tree, Root: store.TreePath(meta.Platform, meta.ID), MetaDigest: meta.TreeDigest}
	tree, err := materialize.ReadTree(ctx, v.Root)
	if err != nil {
		return nil, err
	}
	return v, v.compare(ctx, store, meta, tree, plan, noPlan, func() (activation.Static, error) {
		return activation.FromTree(v.Root, store.Prefix(meta.Platform, meta.ID))
	})
}

// compare fills in what follows from a tree that was read. plan may be nil; noPlan
// then says why. static reads the activation from the tree.
func (v *Verification) compare(ctx context.Context, store *cache.Store, meta *materialize.Meta, tree *materialize.Tree, plan *materialize.Plan, err error, static func() (activation.Static, error)) error {
	v.TreeDigest = tree.Digest()
	var want *materialize.Tree
	var diffs []materialize.Difference
	if err == nil {
		want, err = plan.Tree(ctx, store)
	}
	switch {
	case err == nil:
		diffs = tree.Differences(want)
		v.PlanDigest, v.Unknown, v.Differences = want.Digest(), want.Unknown(), append(v.Differences, diffs...)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, cache.ErrIntegrity):
		v.Damage, v.NoPlan = append(v.Damage, err.Error()), "the store is damaged"
	default:
		v.NoPlan = err.Error()
	}
	if plan != nil {
		damage, err := plan.Damage(ctx, store, diffs)
		if err != nil {
			return err
		}
		v.Damage = append(v.Damage, damage...)
	}
	v.Differences = append(v.Differences, changedCode(tree, meta)...)
	_, ofGroup := store.Group()
	v.Differences = append(v.Differences, tree.Odd(ofGroup)...)
	slices.SortStableFunc(v.Differences, func(a, b materialize.Difference) int { return strings.Compare(a.Path, b.Path) })
	v.Damage = append(v.Damage, v.wrongMeta(store, meta, plan, static)...)
	return nil
}

// changedCode tells of compiled files that no plan knows the content of and that
// are not as they were made.
func changedCode(tree *materialize.Tree, meta *materialize.Meta) (out []materialize.Difference) {
	if meta.ByteCode == nil {
		return nil
	}
	for _, p := range slices.Sorted(maps.Keys(meta.ByteCode.Own)) {
		switch is, was := tree.File(p), meta.ByteCode.Own[p]; is {
		case was:
		case "":
			out = append(out, materialize.Difference{Path: p, What: "missing, was a file when the environment was made"})
		default:
			out = append(out, materialize.Difference{Path: p, What: fmt.Sprintf("a file with sha256 %s, was one with sha256 %s when the environment was made", is, was)})
		}
	}
	return out
}

// wrongMeta compares a description with what can be told from tree and plan (nil =
// there is none), if the tree is whole: jobs start by what it says.
func (v *Verification) wrongMeta(store *cache.Store, meta *materialize.Meta, plan *materialize.Plan, readStatic func() (activation.Static, error)) (out []string) {
	wrong := func(what string) {
		out = append(out, store.MetaPath(meta.ID, meta.Platform)+": "+what+"; remove it with the "+string(v.Delivery)+", and prepare again")
	}
	prefix := store.Prefix(meta.Platform, meta.ID)
	if meta.Prefix != prefix {
		wrong(fmt.Sprintf("it says that the prefix is %q, which is %q", meta.Prefix, prefix))
	}
	if v.TreeDigest == v.MetaDigest {
		static, err := readStatic()
		if err != nil {
			wrong("what activation does cannot be read from the tree: " + err.Error())
		} else if !sameJSON(static, meta.Activation) {
			wrong("its activation is not that of the tree")
		}
	}
	if plan == nil {
		return out
	}
	if !sameJSON(materialize.MetaPackages(plan), meta.Packages) {
		wrong("it names other packages than the lock")
	}
	return out
}

func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	y, yerr := json.Marshal(b)
	return err == nil && yerr == nil && bytes.Equal(x, y)
}

// planAgain makes the plan of a published environment. With an error the plan, if
// there is one, tells the packages but not the tree.
func planAgain(store *cache.Store, meta *materialize.Meta) (*materialize.Plan, error) {
	again, err := describeAgain(store, meta)
	if err != nil {
		return nil, err
	}
	plan, err := again.plan(store, meta)
	if err == nil && plan.RunsScripts() {
		err = errors.New("link scripts were run in it, and what they changed is in no plan: its digest alone says whether it is as it was made")
	}
	if err != nil || meta.ByteCode == nil || meta.ByteCode.Skipped != "" {
		return plan, err
	}
	return plan, knownByteCode(store, again.env, again.platform, plan, meta.ByteCode)
}

// described is what the kept lock has of a published environment.
type described struct {
	env      *lockfile.Environment
	platform *lockfile.Platform
	options  materialize.Options
}

// describeAgain finds a published environment in its kept lock.
func describeAgain(store *cache.Store, meta *materialize.Meta) (*described, error) {
	data, err := os.ReadFile(filepath.Join(store.LockDir(meta.LockDigest), lockName))
	if err != nil {
		return nil, fmt.Errorf("its lock is not kept: %w", err)
	}
	lock, err := parseAgain(store, meta, data)
	if err != nil {
		return nil, fmt.Errorf("its lock: %w", err)
	}
	made := func(map[string]*lockfile.Platform) []string { return meta.AllowedScripts }
	var byteCode, id string
	for _, byteCode = range []string{lockfile.ByteCodeYes, lockfile.ByteCodeNo} {
		if id = makeIndex(store, lock, byteCode, "", made).Environments[meta.Environment].ID; id == meta.ID {
			break
		}
	}
	if id != meta.ID {
		return nil, fmt.Errorf("it was made by another version of hpcenv or with other options: here, environment %s of lock %s has the id %q", meta.Environment, meta.LockDigest, id)
	}
	env, err := lock.Environment(meta.Environment)
	if err != nil {
		return nil, err
	}
	platform, err := env.Platform(meta.Platform)
	if err != nil {
		return nil, err
	}
	return &described{env, platform, options(byteCode == lockfile.ByteCodeYes, meta.AllowedScripts)}, nil
}

// plan is what its packages make of it, but for its byte-code.
func (d *described) plan(store *cache.Store, meta *materialize.Meta) (*materialize.Plan, error) {
	var packages []materialize.Package
	for _, p := range archives(d.platform) {
		m, err := store.Manifest(p.sha256())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.dist(), err)
		}
		packages = append(packages, p.pkg(m))
	}
	return materialize.NewPlan(meta.Prefix, meta.Platform, packages, d.options)
}

// knownByteCode gives a plan the byte-code of whichever compiler made it: that
// depends on the host's architecture, the bytes do not.
func knownByteCode(store *cache.Store, env *lockfile.Environment, platform *lockfile.Platform, plan *materialize.Plan, made *materialize.ByteCode) error {
	for _, host := range store.Format().Platforms {
		compiler, _ := chooseCompiler(env, platform, host)
		manifests := map[string]*cache.Manifest{}
		for _, p := range compilerPackages(compiler) {
			if m, err := store.Manifest(p.sha256()); err == nil {
				manifests[p.sha256()] = m
			}
		}
		in := interpreter(compiler, manifests)
		if in == nil {
			continue
		}
		if complete, err := plan.KnownByteCode(store, in, made); complete || err != nil {
			return err
		}
	}
	return fmt.Errorf("what its byte-code must be is no longer kept in pool/pyc: %w", cache.ErrNotFound)
}

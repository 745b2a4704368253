package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/pyenv"
)

// Run makes what req names. report (may be nil) is told what happens, by one
// goroutine at a time. A request that was served before does no work.
//
// Errors are of the classes ErrNoPlatform and ErrRequest, those of lockfile,
// materialize and cache, a *NeedLocalError or a *NeedCredentialError.
func Run(ctx context.Context, deps *Deps, req *Request, report func(Event)) (*Result, error) {
	start := time.Now()
	sum := sha256.Sum256(req.Lock)
	asked := *req
	req = &asked
	r := &run{
		deps:     deps,
		req:      req,
		digest:   hex.EncodeToString(sum[:]),
		progress: newProgress(report),
	}
	res, err := r.do(ctx)
	if err != nil {
		return nil, err
	}
	if req.DryRun {
		readyDry(res)
	}
	res.LockDigest = r.digest
	res.Notes = r.notes
	res.Seconds = time.Since(start).Seconds()
	return res, nil
}

// Ready tells whether everything that req names is there, so that Run would do no
// work. Nothing is written. What is wrong with a request, Run says.
func Ready(ctx context.Context, deps *Deps, req *Request) bool {
	sum := sha256.Sum256(req.Lock)
	asked := *req
	asked.DryRun = true
	r := &run{deps: deps, req: &asked, digest: hex.EncodeToString(sum[:]), progress: newProgress(nil)}
	platforms, _, err := wantedPlatforms(ctx, deps, r.req)
	if err == nil {
		err = r.nameWishes()
	}
	if err != nil {
		return false
	}
	res, err := r.again(ctx, platforms)
	return err == nil && res != nil
}

// run is one Run.
type run struct {
	deps     *Deps
	req      *Request // not the caller's: names may have become canonical
	digest   string
	progress *progress
	notes    []string
	// byteCode: environments are made with byte-code.
	byteCode bool
	// python is the lock if it names no Python; made are the environments of it, by
	// name.
	python *project.PythonLock
	made   map[string]*pyenv.Made
}

func (r *run) do(ctx context.Context) (*Result, error) {
	if err := errors.Join(checkActivations(r.req), r.checkShared()); err != nil {
		return nil, err
	}
	platforms, notes, err := wantedPlatforms(ctx, r.deps, r.req)
	if err != nil {
		return nil, err
	}
	r.notes = notes
	if err := r.nameWishes(); err != nil {
		return nil, err
	}
	if res, err := r.again(ctx, platforms); res != nil || err != nil {
		return res, err
	}
	lock, err := r.parse()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	names := wantedNames(r.req, environmentNames(lock))
	targets, skipped, err := choose(lock, names, platforms, r.lacking)
	if err != nil {
		return nil, err
	}
	byteCode := r.wantByteCode(lock)
	r.byteCode = byteCode == lockfile.ByteCodeYes
	index := makeIndex(r.deps.Store, lock, byteCode, RulesDigest(r.deps.Scripts.Allow), r.deps.Scripts.allowed)
	r.noteWishes(index)
	for i := range targets {
		e := index.Environments[targets[i].env]
		if e.ID == "" {
			return nil, fmt.Errorf("%w: environment %s: %s", lockfile.ErrLock, targets[i].env, e.Error)
		}
		targets[i].id = e.ID
		targets[i].scripts = r.environmentScripts(lock, targets[i].env)
	}
	res := &Result{Skipped: skipped}
	if err := r.build(ctx, targets, res, func() error { return r.saveLock(ctx, index) }); err != nil {
		return nil, err
	}
	return res, nil
}

func environmentNames(lock *lockfile.Lock) []string {
	names := make([]string, 0, len(lock.Environments))
	for _, e := range lock.Environments {
		names = append(names, e.Name)
	}
	return names
}

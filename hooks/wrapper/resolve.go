package wrapper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// maxJSON bounds an index or a meta file, in bytes.
const maxJSON = 64 << 20

// resolved is an environment that is in the store.
type resolved struct {
	store    string
	meta     materialize.Meta
	manifest *activation.Manifest
	digest   string
	// overlay is the directory of what the user's own projects add; "" = nothing.
	overlay string
}

// resolve finds the environment in the store, or has it prepared.
func (o Options) resolve(ctx context.Context) (*resolved, error) {
	r := &resolved{store: o.Store}
	if raw := o.Request.Activations[o.Environment]; len(raw) > 0 {
		r.manifest = new(activation.Manifest)
		if err := json.Unmarshal(raw, r.manifest); err != nil {
			return nil, fmt.Errorf("activation of environment %s of %s: %w", o.Environment, o.Request.LockPath, err)
		}
		sum := sha256.Sum256(raw)
		r.digest = hex.EncodeToString(sum[:])
	}
	if o.Store != "" {
		found, err := o.fromStore(r)
		if err != nil {
			return r, err
		}
		if found {
			return r, o.addOverlay(ctx, r)
		}
	}
	if err := o.checkTrees(); err != nil {
		return r, err
	}
	if err := o.prepare(ctx, r); err != nil {
		return r, err
	}
	return r, o.addOverlay(ctx, r)
}

// fromStore looks for a lock that is prepared already; everything missing or
// made by another linker just means that the service is asked.
func (o Options) fromStore(r *resolved) (bool, error) {
	idx, err := o.index(o.Store)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, storeError(o.Store, err)
	}
	env, ok := idx.Environments[o.Environment]
	if !ok || env.ID == "" || idx.Linker != materialize.LinkerVersion {
		return false, nil
	}
	err = readJSON(o.metaPath(o.Store, env.ID), &r.meta)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, storeError(o.Store, err)
	}
	return strings.HasPrefix(r.meta.Prefix, idx.PrefixRoot), nil
}

func (o Options) metaPath(store, id string) string {
	return filepath.Join(store, "meta", id, o.Platform+".json")
}

// prepare asks the service.
func (o Options) prepare(ctx context.Context, r *resolved) error {
	svc, err := o.Service(ctx)
	if err != nil {
		return fmt.Errorf("%s: environment %q is not prepared for %s; %w", o.Request.LockPath, o.Environment, o.Platform, err)
	}
	req := o.Request
	req.Environments, req.All, req.Platforms, req.DryRun = []string{o.Environment}, false, []string{o.Platform}, false
	report := o.Report
	if report == nil {
		report = func(api.Event) {}
	}
	res, err := svc.Prepare(ctx, &req, report)
	if err != nil {
		return err
	}
	for _, n := range res.Notes {
		fmt.Fprintln(o.Stderr, "hpcenv: note:", n)
	}
	id := ""
	for _, e := range res.Environments {
		if e.Platform == o.Platform && e.Name == o.Environment {
			id = e.ID
		}
	}
	if id == "" {
		msg := fmt.Sprintf("%s: environment %q has nothing for this host's platform, %s", o.Request.LockPath, o.Environment, o.Platform)
		if len(res.Skipped) > 0 {
			msg += " (" + strings.Join(res.Skipped, "; ") + ")"
		}
		return api.Errorf(api.ExitNoFit, "%s\nnext: add the platform to the manifest and run `pixi lock`, or name another environment with -e", msg)
	}
	if r.store == "" {
		st, err := svc.Status(ctx)
		if err != nil {
			return err
		}
		r.store = st.Store
	}
	if err := readJSON(o.metaPath(r.store, id), &r.meta); err != nil {
		return storeError(r.store, err)
	}
	return nil
}

func storeError(store string, err error) error {
	return api.Errorf(api.ExitUnreachable, "store %s: %v\nnext: is it mounted on this host, and at this path? HPCENV_STORE or /etc/hpcenv/hpcenv.conf (store = PATH) names it", store, err)
}

func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	// Only read from: closing can lose nothing.
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if err != nil {
		return err
	}
	if len(data) > maxJSON {
		return fmt.Errorf("%s: larger than %d bytes", path, maxJSON)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// attached tells whether the prefix is there for programs of this host.
func attached(prefix string) (bool, error) {
	_, err := os.Stat(filepath.Join(prefix, "conda-meta", "history"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

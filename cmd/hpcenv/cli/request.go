package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/project"
)

// request reads the lock at path ("" = the nearest one upwards) and what its
// manifest says of the activation of environments (all, or those named; none
// named = default).
func (a *app) request(path string, environments []string, all bool) (*api.PrepareRequest, error) {
	lock, err := project.FindLock(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(lock)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	req := &api.PrepareRequest{Lock: data, LockPath: lock, Activations: map[string][]byte{}}
	p, err := project.Load(filepath.Dir(lock))
	if p == nil || err != nil {
		return req, err // a lock without a manifest is none the worse
	}
	if all {
		environments = p.Environments()
	} else if len(environments) == 0 {
		environments = []string{"default"}
	}
	for _, name := range environments {
		m, err := p.Activation(name)
		var unknown *project.UnknownEnvironmentError
		if errors.As(err, &unknown) {
			continue // whether there is such an environment, the lock decides
		}
		if err != nil {
			return nil, err
		}
		missing, err := p.MissingScripts(name)
		if err != nil {
			return nil, err
		}
		a.notes = append(a.notes, missing...)
		req.Activations[name], _ = project.Canonical(m)
	}
	return req, nil
}

// header is the first line of a preparation.
func header(lock []byte) string {
	sum := sha256.Sum256(lock)
	return "pixi.lock " + short(hex.EncodeToString(sum[:]))
}

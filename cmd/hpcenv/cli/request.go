package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/satisfy"
)

// request reads the lock at path ("" = the nearest one upwards) and what its
// manifest says of the activation of environments (all, or those named; none
// named = default). A lock that does not satisfy its manifest is an error unless
// it is to be taken as it is. Of a lock that names no environments, the names are
// texts of wishes; the request has the names that those stand for.
func (a *app) request(path string, environments []string, all bool) (*api.PrepareRequest, error) {
	lock, note, err := project.FindLock(path)
	if err != nil {
		return nil, err
	}
	if note != "" {
		fmt.Fprintln(a.stderr, "note:", note)
	}
	data, err := os.ReadFile(lock)
	if err != nil {
		return nil, fmt.Errorf("the lock file cannot be read: %w", err)
	}
	if err := project.NotLock(lock, data); err != nil {
		return nil, err
	}
	req := &api.PrepareRequest{Lock: data, LockPath: lock, Activations: map[string][]byte{}}
	a.editable = map[string]map[string]bool{}
	if !a.takenAsIs() {
		if err := satisfy.VerifyUV(lock, data, satisfy.Memory()); err != nil {
			return nil, err
		}
	}
	python, err := a.wishes(req, environments, all)
	if python && path == "" && len(environments) == 0 && !all && !a.choice.given() {
		a.noteMember(req)
	}
	if python || err != nil {
		return req, service.OfLock(err, data)
	}
	environments = splitNames(environments)
	req.Environments, req.All = environments, all
	p, err := project.Load(filepath.Dir(lock))
	if p == nil || err != nil {
		return req, err // a lock without a manifest is none the worse
	}
	a.project = p
	if !a.takenAsIs() {
		if err := satisfy.Verify(p, lock, data, satisfy.Memory()); err != nil {
			return nil, err
		}
	}
	if all {
		environments = p.Environments()
	} else if len(environments) == 0 {
		environments = []string{"default"}
	}
	req.Activations, err = a.activations(environments)
	return req, err
}

// activations are what the manifest adds to environments, as canonical JSON by name;
// what it says of packages by path is noted on the way.
func (a *app) activations(environments []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	p := a.project
	if p == nil {
		return out, nil
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
		for _, m := range missing {
			if !slices.Contains(a.notes, m) {
				a.notes = append(a.notes, m)
			}
		}
		out[name], _ = project.Canonical(m)
		if a.editable[name], err = p.Editable(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// lockDigest is the digest of a lock's bytes.
func lockDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// aboutLock puts the lock's path before an error that the lock is to blame for.
func aboutLock(err error, lock string) error {
	if err == nil {
		return nil
	}
	e := service.Classify(err)
	if !e.AboutLock || strings.Contains(e.Message, lock) {
		return err
	}
	return &api.Error{Code: e.Code, Message: lock + ": " + e.Message}
}

// header is the first line of a preparation.
func header(lock []byte) string {
	name := "lock"
	if format, err := lockfile.Detect(lock); err == nil {
		name = format.String()
	}
	return name + " " + short(lockDigest(lock))
}

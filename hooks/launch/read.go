package launch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// RunDir is where a node's root keeps what launches read.
const RunDir = "/run/hpcenv-node"

// Needs of an environment; nil without an error = it was made by another release, which
// did not look.
func Needs(store prepared.Store, id, platform string) (*needs.Needs, error) {
	n, err := store.Needs(id, platform)
	if errors.Is(err, needs.ErrNone) || errors.Is(err, needs.ErrVersion) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what the environment's files need was not checked: %w", err)
	}
	return n, nil
}

// Lookup looks variables up in an environment.
func Lookup(env []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := len(env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(env[i], name+"="); ok {
				return v, true
			}
		}
		return "", false
	}
}

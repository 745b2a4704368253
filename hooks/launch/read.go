package launch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/hpcenv/hpcenv/envs/needs"
)

// RunDir is where a node's root keeps what launches read.
const RunDir = "/run/hpcenv-node"

// ReadNeeds reads what an environment needs of a node; nil = it was made by another
// release, which did not look.
func ReadNeeds(path string) (*needs.Needs, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	n := new(needs.Needs)
	if err == nil {
		err = json.Unmarshal(b, n)
	}
	if err != nil {
		return nil, err
	}
	if n.Version != needs.Version {
		return nil, nil
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

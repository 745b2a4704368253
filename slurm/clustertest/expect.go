//go:build cluster

package clustertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// probe is one line of contrib/demo's probe program: what a task sees.
type probe struct {
	Node       string `json:"host"`
	Prefix     string `json:"sys.prefix"`
	Executable string `json:"sys.executable"`
	Numpy      string `json:"numpy.__file__"`
	Machine    string `json:"machine"`
	SHA256     string `json:"interpreter.sha256"`
}

// platformOf maps what the interpreter's ELF header says to a conda subdir.
var platformOf = map[string]string{"x86_64": "linux-64", "aarch64": "linux-aarch64"}

// expectation is what a lock's packages say a task must see.
type expectation struct {
	prefix string
	// sha256 of bin/python3.11 by platform, from the package's own record.
	sha256 map[string]string
}

// expect works out, from the lock and the packages' manifests (which were
// checked against the packages' own paths.json), what tasks must print. The manifests are
// in the directory local if there is one: of a store of images.
func expect(store, local, prefixRoot string, lock []byte, environment string) (*expectation, error) {
	l, err := lockfile.Parse(lock)
	if err != nil {
		return nil, err
	}
	env, err := l.Environment(environment)
	if err != nil {
		return nil, err
	}
	var ix lockfile.Index
	b, err := os.ReadFile(filepath.Join(store, "locks", l.Digest, "index.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &ix); err != nil {
		return nil, err
	}
	st, err := cache.Open(store)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(local); local != "" && err == nil {
		if err := st.UseLocal(local); err != nil {
			return nil, err
		}
	}
	e := &expectation{prefix: filepath.Join(prefixRoot, ix.Environments[environment].ID), sha256: map[string]string{}}
	if st.Format().PrefixRoot == "" { // a user's own store; these stories are on x86-64
		e.prefix = st.Prefix("linux-64", ix.Environments[environment].ID)
	}
	for _, p := range env.Platforms {
		for _, c := range p.Conda {
			m, err := st.Manifest(c.SHA256)
			if err != nil {
				continue // a platform that was not prepared
			}
			for _, entry := range m.Entries {
				if entry.Path == "bin/python3.11" && entry.Type == cache.EntryFile {
					e.sha256[p.Subdir] = entry.SHA256
				}
			}
		}
	}
	if len(e.sha256) == 0 {
		return nil, fmt.Errorf("no package of %s has bin/python3.11", environment)
	}
	return e, nil
}

// check compares one probe with the expectation.
func (e *expectation) check(p probe) error {
	var wrong []string
	differ := func(what, got, want string) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", what, got, want))
		}
	}
	differ("sys.prefix", p.Prefix, e.prefix)
	if p.Executable != e.prefix+"/bin/python" && p.Executable != e.prefix+"/bin/python3" && p.Executable != e.prefix+"/bin/python3.11" {
		wrong = append(wrong, "sys.executable is "+p.Executable)
	}
	differ("numpy.__file__", p.Numpy, e.prefix+"/lib/python3.11/site-packages/numpy/__init__.py")
	want, ok := e.sha256[platformOf[p.Machine]]
	if !ok {
		wrong = append(wrong, "unexpected machine "+p.Machine)
	} else {
		differ("sha256 of the interpreter", p.SHA256, want)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("on %s: %s", p.Node, strings.Join(wrong, "; "))
	}
	return nil
}

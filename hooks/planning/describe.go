// Package planning joins what a lock has with what the cluster is, for all who ask
// for a plan: submissions, preparations, `hpcenv plan`, and nodes of a kind that a
// plan does not have.
//
// Enters: a lock's bytes and its manifest, a store. Leaves: the input of a selection.
// What it reads of a store are published files; nobody is asked.
package planning

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/internal/remember"
)

// Description is a lock, and what its manifest adds, as far as a selection looks at
// it. It is the same for all who have the same lock and manifest.
type Description struct {
	Environments []selection.Environment `json:"environments"`
}

// ErrDescription: bytes that are no description.
var ErrDescription = errors.New("the lock's description cannot be used")

// MaxDescription bounds a description in bytes; the largest real one has 27 kB.
const MaxDescription = 4 << 20

// Encode returns the canonical bytes and their digest, by which a store keeps them
// and pins name them.
func (d *Description) Encode() (data []byte, digest string, err error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrDescription, err)
	}
	data = bytes.TrimSpace(b.Bytes())
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}

// Decode reads a description. The error is of class ErrDescription.
func Decode(data []byte) (*Description, error) {
	if len(data) > MaxDescription {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrDescription, len(data), MaxDescription)
	}
	d := new(Description)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDescription, err)
	}
	if len(d.Environments) == 0 {
		return nil, fmt.Errorf("%w: it has no environment", ErrDescription)
	}
	return d, nil
}

// Environment returns one of them, or nil.
func (d *Description) Environment(name string) *selection.Environment {
	for i := range d.Environments {
		if d.Environments[i].Name == name {
			return &d.Environments[i]
		}
	}
	return nil
}

// Names of the environments, in the lock's order.
func (d *Description) Names() []string {
	names := make([]string, len(d.Environments))
	for i := range d.Environments {
		names[i] = d.Environments[i].Name
	}
	return names
}

// Of describes a lock that names its environments. proj is the manifest beside it,
// nil if there is none.
func Of(data []byte, proj *project.Project) (*Description, error) {
	lock, err := lockfile.Parse(data)
	if err != nil {
		return nil, err
	}
	envs, err := selection.OfLock(lock, proj)
	if err != nil {
		return nil, err
	}
	return &Description{Environments: envs}, nil
}

// OfWish describes a lock that names no environments (uv.lock, pylock.toml): the wish
// is the only one, for every platform that there are nodes of. What it asks of them
// the preparation finds out.
func OfWish(wish string, subdirs []string) *Description {
	env := selection.Environment{Name: wish}
	for _, s := range subdirs {
		env.Platforms = append(env.Platforms, selection.Candidate{Platform: s, Subdir: s})
	}
	return &Description{Environments: []selection.Environment{env}}
}

// describing is raised when Of comes to say something else of the same input.
const describing = "2"

// Remembered is Of, done once per lock and manifest: memory is the caller's own
// directory in which descriptions are kept, "" = none. If it cannot be written,
// nothing is lost but time.
func Remembered(data []byte, lockDigest string, proj *project.Project, memory string) (*Description, error) {
	path := ""
	if memory != "" {
		manifest := ""
		if proj != nil {
			manifest = proj.Digest + "\n" + filepath.Base(proj.File)
		}
		key := sha256.Sum256([]byte(strings.Join([]string{describing, lockDigest, manifest}, "\n")))
		path = filepath.Join(memory, hex.EncodeToString(key[:16])+".json")
		if kept, err := remember.Recall(path, MaxDescription); err == nil {
			if d, err := Decode(kept); err == nil {
				return d, nil
			}
		}
	}
	d, err := Of(data, proj)
	if err != nil {
		return nil, err
	}
	if path != "" {
		keep(path, d)
	}
	return d, nil
}

// Memory is where a user's descriptions are kept; "" if they have no cache directory.
func Memory() string { return remember.Dir("described") }

// keep remembers a description. That it cannot is no error: the lock is described again
// next time.
func keep(path string, d *Description) {
	data, _, err := d.Encode()
	if err != nil || remember.Keep(path, data) != nil {
		return
	}
}

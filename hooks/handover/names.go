package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// ErrName is the class of errors about names.
var ErrName = errors.New("not a name of environments")

// NameSuffix ends the files of names.
const NameSuffix = ".json"

// Name keeps environments of a lock, and lets users submit with them: --env-lock=@NAME.
type Name struct {
	// Name is one to four words with slashes between, e.g. climate/2026.11.
	Name string `json:"name"`
	// Lock's digest, and the path at which it was when it got the name, for messages.
	Lock     string `json:"lock"`
	LockPath string `json:"lock_path"`
	// Environments by name, with their ids.
	Environments map[string]string `json:"environments"`
	// Activations are the digests of the manifest's part, by environment; the store has
	// them with the lock.
	Activations map[string]string `json:"activations,omitempty"`
	// Description is the digest of what the lock asks of nodes; "" = it was not kept.
	Description string `json:"description,omitempty"`
	// Wish: the lock names no environments (uv.lock); these are wishes.
	Wish bool `json:"wish,omitempty"`
	// By is who gave it, Note what for.
	By   string    `json:"by"`
	Note string    `json:"note,omitempty"`
	At   time.Time `json:"at"`
}

// IDs of its environments.
func (n *Name) IDs() []string {
	ids := make([]string, 0, len(n.Environments))
	for _, id := range n.Environments {
		ids = append(ids, id)
	}
	return ids
}

// word of a name: it is a file's name, and stands on command lines and in messages.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}(/[A-Za-z0-9][A-Za-z0-9._+-]{0,63}){0,3}$`)

// CheckName refuses what is no name; the error is of class ErrName.
func CheckName(name string) error {
	if !namePattern.MatchString(name) || filepath.Ext(name) == NameSuffix {
		return fmt.Errorf("%w: %.80q; a name is one to four words of letters, digits and . _ + -, with slashes between: climate/2026.11", ErrName, name)
	}
	return nil
}

// NamePath is where a name lies in a store.
func NamePath(store, name string) string { return filepath.Join(store, "names", name+NameSuffix) }

// maxName bounds the file of a name in bytes.
const maxName = 1 << 20

// ReadName reads a name of a store. Errors are of class ErrName, or those of the file.
func ReadName(store, name string) (*Name, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	f, err := os.Open(NamePath(store, name))
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxName))
	if err != nil {
		return nil, err
	}
	n := new(Name)
	if err := json.Unmarshal(data, n); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrName, f.Name(), err)
	}
	n.Name = name
	return n, nil
}

package sitebuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/making"
)

type (
	// Entry is what a record says of one build.
	Entry = making.SiteBuild
	// Variable of a launch.
	Variable = making.SiteVariable
)

// States of an Entry.
const (
	Pending = making.SiteBuildPending
	Built   = making.SiteBuildBuilt
	Failed  = making.SiteBuildFailed
	NotRun  = making.SiteBuildNotRun
)

// recordVersion is the form of a Record.
const recordVersion = 1

// Record is what was built for an environment on one platform. An environment without
// one has nothing built.
type Record struct {
	Version int     `json:"version"`
	Builds  []Entry `json:"builds"`
}

// maxRecord bounds a record, in bytes.
const maxRecord = 1 << 20

// RecordPath is where the record of an environment lies below a store's root.
func RecordPath(root, id, platform string) string {
	return filepath.Join(root, "meta", id, platform+".overlays.json")
}

// Read returns the record of an environment, with no builds if there is none. A form that
// this program does not know is an error, as is one that cannot be read.
func Read(root, id, platform string) (*Record, error) {
	path := RecordPath(root, id, platform)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return new(Record), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return nil, err
	}
	return decode(path, data)
}

func decode(path string, data []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("%s is of version %d, this program reads %d", path, r.Version, recordVersion)
	}
	for _, e := range r.Builds {
		if e.State == Built && !isID(e.Overlay) {
			return nil, fmt.Errorf("%s: overlay %q of %s is not 32 hex digits", path, e.Overlay, e.Name)
		}
	}
	return r, nil
}

func isID(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 32
}

// Entry of a build by its name; nil = there is none.
func (r *Record) Entry(name string) *Entry {
	if i := slices.IndexFunc(r.Builds, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return &r.Builds[i]
	}
	return nil
}

// Pending tells whether something is being built.
func (r *Record) Pending() bool {
	return slices.ContainsFunc(r.Builds, func(e Entry) bool { return e.State == Pending })
}

// Save publishes the record of an environment, in place of the one before. The caller
// holds the lock of Lock.
func (r *Record) Save(store *cache.Store, id, platform string) error {
	r.Version = recordVersion
	return saveJSON(store, RecordPath(store.Root(), id, platform), r)
}

func saveJSON(store *cache.Store, path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return saveText(store, path, append(data, '\n'))
}

func saveText(store *cache.Store, path string, data []byte) error {
	if err := store.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return store.SaveFile(path, 0o444, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// LogPath is where the log of a build lies, below the store.
func LogPath(name, id, platform string) string {
	return filepath.Join("logs", "site-builds", id+"-"+platform+"-"+name+".log")
}

// SaveLog keeps what a build printed, in place of what the one before did.
func SaveLog(store *cache.Store, path, text string) error {
	return saveText(store, filepath.Join(store.Root(), path), []byte(text+"\n"))
}

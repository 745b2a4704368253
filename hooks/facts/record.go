package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// RecordFile is where a node keeps its facts, below the run directory that it
// shares with the prolog: /run/hpcenv-node/facts.json.
const RecordFile = "facts.json"

// maxRecord bounds a record; a node with 16 devices of each kind has 10 kB.
const maxRecord = 1 << 20

// Record is what a node keeps of its facts.
type Record struct {
	Version int `json:"version"`
	// Boot is the kernel's id of the boot in which they were read: hardware and
	// drivers may differ in another.
	Boot string `json:"boot"`
	// Read is when.
	Read  time.Time `json:"read"`
	Facts *Facts    `json:"facts"`
}

// ErrNoRecord: there is no record of this boot that can be trusted.
var ErrNoRecord = errors.New("no record of the node's facts")

// BootID is the running kernel's id of its boot.
func BootID() (string, error) {
	t := newTree("/")
	id, err := t.value("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	if id == "" {
		return "", errors.New("boot id: /proc/sys/kernel/random/boot_id is empty")
	}
	return id, nil
}

// Save writes the record of this boot, readable by all. A reader sees the old one
// or the new one. The directory must be there and the caller's alone to write to (OwnDirectory).
func Save(path string, f *Facts) error {
	boot, err := BootID()
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(Record{Version: Version, Boot: boot, Read: time.Now().UTC().Truncate(time.Second), Facts: f}, "", "  ")
	if err != nil {
		return err
	}
	return WriteTrusted(path, append(b, '\n'))
}

// LoadRecord reads the record of this boot. It is believed only if it is a regular
// file of root's (or of the caller's own, who could not deceive anyone else) that
// no other may write to. The error wraps ErrNoRecord and says why.
func LoadRecord(path string) (*Record, error) {
	r, err := readRecord(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRecord, err)
	}
	return r, nil
}

func readRecord(path string) (*Record, error) {
	b, err := ReadTrusted(path)
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	boot, err := BootID()
	switch {
	case err != nil:
		return nil, err
	case r.Version != Version || r.Facts == nil || r.Facts.Version != Version:
		return nil, fmt.Errorf("%s is of another version of hpcenv", path)
	case r.Boot != boot:
		return nil, fmt.Errorf("%s is of an earlier boot", path)
	}
	return &r, nil
}

// Load returns the node's facts: as recorded if there is a record of this boot,
// else as they are read now. They are never nil; the error, which wraps
// ErrNoRecord, says why the record was not used.
func Load(ctx context.Context, path string) (*Facts, error) {
	r, err := LoadRecord(path)
	if err == nil {
		return r.Facts, nil
	}
	return Read(ctx, "/"), err
}

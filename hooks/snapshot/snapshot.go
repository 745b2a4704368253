// Package snapshot reads what the cluster's nodes are, as the daemon published it in
// the store: inventory/<digest>.json, with inventory/current naming the newest.
//
// Enters: a store's directory. Leaves: a Snapshot. It is a leaf for submissions and
// plans; package daemon/inventory writes what is read here.
package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// Version of the file's form. Snapshots of an earlier one are as good as none: the
// next refresh replaces them.
const Version = 2

// Errors.
var (
	// ErrNone: the store has no snapshot that this release reads.
	ErrNone = errors.New("no inventory yet")
	// ErrDamaged: a snapshot is there and does not hold what it should.
	ErrDamaged = errors.New("the inventory is damaged")
)

// Snapshot is the cluster at one time. What changes by the minute (states of nodes)
// is not in it: 10,000 nodes of 40 kinds take less than 200 kB.
type Snapshot struct {
	Version int `json:"version"`
	// Cluster is Slurm's ClusterName; "" without Slurm.
	Cluster string `json:"cluster"`
	// Kinds sorted by digest.
	Kinds []selection.Kind `json:"kinds"`
	// Groups of nodes, in the order of their first names; every node is in one.
	Groups []Group `json:"groups"`
	// Rules is the digest of the site's selection rules (planning.ReadRules).
	Rules string `json:"rules,omitempty"`
	// Plugins of Slurm that change where jobs land; Federated: so does a federation.
	Plugins   queries.Plugins `json:"plugins"`
	Federated bool            `json:"federated,omitempty"`
	// Enforced: the site's job_submit plugin keeps jobs where they were planned for.
	Enforced bool `json:"enforced,omitempty"`
	// SameHost are nodes with equal host identifiers (facts.Facts.HostID), as host lists;
	// those of no other are not there.
	SameHost []string `json:"same_host,omitempty"`
	// Partitions by name.
	Partitions []queries.Partition `json:"partitions,omitempty"`
}

// Group is nodes that are equal in all that is told here.
type Group struct {
	// Nodes as a host list, and how many they are.
	Nodes string `json:"nodes"`
	Count int    `json:"count"`
	// Kind is a digest of Snapshot.Kinds.
	Kind string `json:"kind"`
	// What Slurm says of them: uname -m, features, generic resources, partitions.
	Arch       string   `json:"arch,omitempty"`
	Features   []string `json:"features,omitempty"`
	Gres       string   `json:"gres,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
}

// Platforms counts nodes by conda subdir; nodes of which nobody knows the
// architecture yet do not count.
func (s *Snapshot) Platforms() map[string]int {
	out := map[string]int{}
	for _, g := range s.Groups {
		if k := s.Kind(g.Kind); k != nil && k.Subdir != "" {
			out[k.Subdir] += g.Count
		}
	}
	return out
}

// Complete tells whether every node has told its architecture.
func (s *Snapshot) Complete() bool {
	for _, g := range s.Groups {
		if g.Arch == "" {
			return false
		}
	}
	return true
}

// Count of all nodes.
func (s *Snapshot) Count() int {
	n := 0
	for _, g := range s.Groups {
		n += g.Count
	}
	return n
}

// Kind returns the kind with a digest, or nil.
func (s *Snapshot) Kind(digest string) *selection.Kind {
	for i := range s.Kinds {
		if s.Kinds[i].Digest == digest {
			return &s.Kinds[i]
		}
	}
	return nil
}

// maxNodes bounds what room is made for before nodes are read.
const maxNodes = 1 << 17

// Nodes are all nodes as Slurm's answers had them, with the kind of each by name.
// Error: ErrDamaged.
func (s *Snapshot) Nodes() (nodes []queries.Node, kinds map[string]*selection.Kind, err error) {
	count := max(0, min(s.Count(), maxNodes)) // a damaged one may say anything
	kinds = make(map[string]*selection.Kind, count)
	nodes = make([]queries.Node, 0, count)
	for _, g := range s.Groups {
		names, err := hostlist.Expand(g.Nodes)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		kind := s.Kind(g.Kind)
		if kind == nil {
			return nil, nil, fmt.Errorf("%w: %s is of kind %.20q, which is not there", ErrDamaged, g.Nodes, g.Kind)
		}
		for _, name := range names {
			kinds[name] = kind
			nodes = append(nodes, queries.Node{Name: name, Arch: g.Arch, Platform: queries.Platform(g.Arch), Features: g.Features, Gres: g.Gres, Partitions: g.Partitions})
		}
	}
	return nodes, kinds, nil
}

// Read returns the newest snapshot of the store in root, its digest, and when it was
// last found right. Errors: ErrNone, ErrDamaged, or why the store cannot be read.
func Read(root string) (*Snapshot, string, time.Time, error) {
	current := filepath.Join(root, "inventory", "current")
	st, err := os.Stat(current)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", time.Time{}, fmt.Errorf("%s: %w", root, ErrNone)
	}
	if err != nil {
		return nil, "", time.Time{}, fmt.Errorf("inventory: %w", err)
	}
	name, err := os.ReadFile(current)
	if err != nil {
		return nil, "", time.Time{}, fmt.Errorf("inventory: %w", err)
	}
	digest := strings.TrimSpace(string(name))
	s, err := ReadDigest(root, digest)
	return s, digest, st.ModTime(), err
}

// ReadDigest returns a certain snapshot. Errors as Read's.
func ReadDigest(root, digest string) (*Snapshot, error) {
	if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%w: %.80q is not a digest", ErrDamaged, digest)
	}
	path := filepath.Join(root, "inventory", digest+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	s := new(Snapshot)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	if s.Version != Version {
		return nil, fmt.Errorf("%s: %w: it has version %d, this hpcenv reads %d", path, ErrNone, s.Version, Version)
	}
	return s, nil
}

package planning

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
	"github.com/hpcenv/hpcenv/slurm/scope"
)

// Cluster is what a store says of the cluster's nodes, and of what its site prefers.
type Cluster struct {
	// Snapshot and its digest, which pins name.
	Snapshot *snapshot.Snapshot
	Digest   string
	Rules    selection.Rules

	nodes []queries.Node
	kinds map[string]*selection.Kind
}

// ReadCluster reads the newest snapshot of the store in root. Errors as
// snapshot.Read's, and of class selection.ErrRules.
func ReadCluster(root string) (*Cluster, error) {
	snap, digest, _, err := snapshot.Read(root)
	if err != nil {
		return nil, err
	}
	return newCluster(root, snap, digest)
}

// ReadClusterAt reads a certain snapshot, which a pin names.
func ReadClusterAt(root, digest string) (*Cluster, error) {
	snap, err := snapshot.ReadDigest(root, digest)
	if err != nil {
		return nil, err
	}
	return newCluster(root, snap, digest)
}

func newCluster(root string, snap *snapshot.Snapshot, digest string) (*Cluster, error) {
	c := &Cluster{Snapshot: snap, Digest: digest}
	var err error
	if c.Rules, err = ReadRules(root, snap.Rules); err != nil {
		return nil, err
	}
	c.nodes, c.kinds, err = snap.Nodes()
	return c, err
}

// rulesPath is where the rules with a digest are kept.
func rulesPath(root, digest string) string {
	return filepath.Join(root, "inventory", "rules-"+digest+".json")
}

// RulesName is the file, beside the snapshots, that keeps rules.
func RulesName(digest string) string { return filepath.Base(rulesPath("", digest)) }

// ReadRules reads a site's rules from the store in root; "" are the default ones, as is
// the digest that they have. Errors: selection.ErrRules, or why the store cannot be
// read.
func ReadRules(root, digest string) (selection.Rules, error) {
	if digest == "" || digest == (selection.Rules{}).Digest() {
		return selection.Rules{}, nil
	}
	if filepath.Base(digest) != digest {
		return selection.Rules{}, fmt.Errorf("%w: %.80q is no digest", selection.ErrRules, digest)
	}
	data, err := os.ReadFile(rulesPath(root, digest))
	if errors.Is(err, fs.ErrNotExist) {
		return selection.Rules{}, fmt.Errorf("%w: the store does not have those with the digest %s", selection.ErrRules, digest)
	}
	if err != nil {
		return selection.Rules{}, fmt.Errorf("the site's rules: %w", err)
	}
	return selection.LoadRules(data)
}

// Override makes every node what overrides stand for (facts.Override): the kinds that
// the cluster returns from now on are those that a node decides by in a job that was
// submitted with them.
func (c *Cluster) Override(lookup func(string) (string, bool)) {
	snap := *c.Snapshot
	snap.Kinds, snap.Groups = nil, slices.Clone(snap.Groups)
	after := map[string]string{}
	for i := range c.Snapshot.Kinds {
		before := &c.Snapshot.Kinds[i]
		k := before.Overridden(lookup)
		after[before.Digest] = k.Digest
		if snap.Kind(k.Digest) == nil {
			snap.Kinds = append(snap.Kinds, k)
		}
	}
	for i := range snap.Groups {
		snap.Groups[i].Kind = after[snap.Groups[i].Kind]
	}
	for node, k := range c.kinds {
		c.kinds[node] = snap.Kind(after[k.Digest])
	}
	c.Snapshot = &snap
}

// Scope is the cluster as package scope looks at it.
func (c *Cluster) Scope() *scope.Cluster {
	return &scope.Cluster{Name: c.Snapshot.Cluster, Nodes: c.nodes, Partitions: c.Snapshot.Partitions, Plugins: c.Snapshot.Plugins, Enforced: c.Snapshot.Enforced, Federated: c.Snapshot.Federated}
}

// All are the names of all nodes.
func (c *Cluster) All() []string {
	names := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		names[i] = n.Name
	}
	return names
}

// KindOf returns the kind of a node; nil = there is no such node.
func (c *Cluster) KindOf(node string) *selection.Kind { return c.kinds[node] }

// Groups of the named nodes by kind. Names that the cluster does not have are
// returned, too.
func (c *Cluster) Groups(names []string) (groups []selection.Group, unknown []string) {
	by := map[string][]string{}
	for _, n := range names {
		k := c.kinds[n]
		if k == nil {
			unknown = append(unknown, n)
			continue
		}
		by[k.Digest] = append(by[k.Digest], n)
	}
	for digest, list := range by {
		groups = append(groups, selection.Group{Kind: *c.Snapshot.Kind(digest), Nodes: hostlist.Compress(list), Count: len(list)})
	}
	slices.SortFunc(groups, func(a, b selection.Group) int { return hostlist.Compare(a.Nodes, b.Nodes) })
	return groups, unknown
}

// Subdirs of the platforms that the named nodes have, sorted.
func (c *Cluster) Subdirs(names []string) []string {
	var out []string
	for _, n := range names {
		if k := c.kinds[n]; k != nil && k.Subdir != "" && !slices.Contains(out, k.Subdir) {
			out = append(out, k.Subdir)
		}
	}
	slices.Sort(out)
	return out
}

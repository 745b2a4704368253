package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// ErrReport is the class of errors about what a node told: its client is at fault.
var ErrReport = errors.New("the node's facts are not taken")

// maxNodes bounds how many nodes may have told something, known to Slurm or not.
const maxNodes = 100_000

// reports is what nodes told, newest first told. It is kept in the store, so that a
// daemon that starts knows what nodes told its predecessor: nodes tell only what
// changed.
type reports struct {
	// saving is held by whoever writes the file; it is taken before mu.
	saving sync.Mutex
	mu     sync.Mutex
	file   snapshot.Reports
	// told counts what was told, saved is how much of that the store has; dirty: the
	// snapshots have less.
	told, saved uint64
	dirty       bool
	// addresses of nodes, as they were resolved, and when.
	addresses map[string]resolved
}

type resolved struct {
	at    time.Time
	addrs []netip.Addr
}

// resolveAgain is the age of an answer of the name service that is not used any more.
const resolveAgain = 5 * time.Minute

// NodeFacts takes what a node told. When it returns the store has it, so that a node need
// not tell it again, whatever becomes of this process; it appears in the next Publish.
// Errors: ErrReport, and cache.ErrStore.
func (k *Keeper) NodeFacts(ctx context.Context, node string, from netip.Addr, data []byte) error {
	var f facts.Facts
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrReport, node, err)
	}
	if f.Version != facts.Version {
		return fmt.Errorf("%w: %s: they have version %d, this hpcenvd reads %d\nnext: install the same hpcenv on the node", ErrReport, node, f.Version, facts.Version)
	}
	known, err := k.slurmNode(ctx, node)
	if err != nil {
		return err
	}
	if known == nil {
		return fmt.Errorf("%w: Slurm has no node %q\nnext: the hook takes the name from SLURMD_NODENAME, else the host's", ErrReport, node)
	}
	if err := k.checkAddress(ctx, known, from); err != nil {
		return err
	}
	// As canonical bytes: equal facts are kept once, however they were written. What no
	// two nodes should have in common is kept beside them.
	host := f.HostID
	f.HostID = ""
	if data, err = json.Marshal(&f); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrReport, node, err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	mine, err := k.note(node, digest, host, data)
	if err != nil {
		return err
	}
	return k.saveReports(mine)
}

// note keeps what a node told in memory, and returns its number.
func (k *Keeper) note(node, digest, host string, data []byte) (uint64, error) {
	names := k.names()
	k.reports.mu.Lock()
	defer k.reports.mu.Unlock()
	if err := k.loadReports(); err != nil {
		return 0, err
	}
	r := &k.reports.file
	if len(r.Nodes) >= maxNodes {
		k.forget(names, 0)
	}
	if len(r.Nodes) >= maxNodes && r.Nodes[node].Facts == "" {
		return 0, fmt.Errorf("%w: %d nodes told theirs already", ErrReport, len(r.Nodes))
	}
	r.Facts[digest] = data
	r.Nodes[node] = snapshot.Report{Facts: digest, At: time.Now().Unix(), HostID: host}
	k.reports.dirty = true
	k.reports.told++
	return k.reports.told, nil
}

// Publish makes what nodes told since the last call part of the store, if there is
// anything.
func (k *Keeper) Publish(ctx context.Context) error {
	k.reports.mu.Lock()
	dirty, told := k.reports.dirty, k.reports.told
	k.reports.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := k.saveReports(told); err != nil {
		return err
	}
	k.reports.mu.Lock()
	k.reports.dirty = k.reports.told != told
	k.reports.mu.Unlock()
	_, err := k.Refresh(ctx)
	return err
}

// saveReports returns once the store has what was told up to a number. Those who come
// while one writes are written together by the next.
func (k *Keeper) saveReports(upTo uint64) error {
	names := k.names()
	k.reports.saving.Lock()
	defer k.reports.saving.Unlock()
	data, told, err := k.encodeReports(names, upTo)
	if data == nil || err != nil {
		return err
	}
	if err := k.save(filepath.Join(k.Store.Root(), "inventory", snapshot.ReportsName), string(data)); err != nil {
		return err
	}
	k.reports.mu.Lock()
	k.reports.saved = told
	k.reports.mu.Unlock()
	return nil
}

// encodeReports returns the file's bytes, without facts that no node has any more, and
// how much of what was told is in it; nil = the store has enough.
func (k *Keeper) encodeReports(names func(string) bool, upTo uint64) ([]byte, uint64, error) {
	k.reports.mu.Lock()
	defer k.reports.mu.Unlock()
	if k.reports.saved >= upTo {
		return nil, 0, nil
	}
	k.forget(names, forgetAfter)
	used := map[string]bool{}
	for _, r := range k.reports.file.Nodes {
		used[r.Facts] = true
	}
	for digest := range k.reports.file.Facts {
		if !used[digest] {
			delete(k.reports.file.Facts, digest)
		}
	}
	data, err := json.Marshal(&k.reports.file)
	if err != nil {
		return nil, 0, fmt.Errorf("inventory: %w", err)
	}
	return data, k.reports.told, nil
}

// forgetAfter is how long what a node told is kept after Slurm has forgotten the node:
// one that is only left out of slurm.conf for a while is known when it is back.
const forgetAfter = 30 * 24 * time.Hour

// names of the nodes that Slurm has; nil = it was not asked yet.
func (k *Keeper) names() func(string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.nodes) == 0 {
		return nil
	}
	nodes := k.nodes // replaced, never changed
	var known map[string]bool
	return func(name string) bool {
		if known == nil {
			known = make(map[string]bool, len(nodes))
			for i := range nodes {
				known[nodes[i].Name] = true
			}
		}
		return known[name]
	}
}

// forget drops what nodes told that Slurm does not have, if they told it that long ago:
// nodes of a cloud come and go under ever new names. The lock is held.
func (k *Keeper) forget(known func(string) bool, age time.Duration) {
	if known == nil {
		return
	}
	for name, r := range k.reports.file.Nodes {
		if time.Since(time.Unix(r.At, 0)) >= age && !known(name) {
			delete(k.reports.file.Nodes, name)
		}
	}
}

// loadReports reads them once. The lock is held.
func (k *Keeper) loadReports() error {
	if k.reports.file.Nodes != nil {
		return nil
	}
	file, err := snapshot.ReadReports(k.Store.Root())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	k.reports.file = file
	return nil
}

// sameHosts are nodes of Slurm's that told equal host identifiers.
func (k *Keeper) sameHosts(nodes []queries.Node) []string {
	k.reports.mu.Lock()
	defer k.reports.mu.Unlock()
	ids := make(map[string]string, len(nodes))
	for i := range nodes {
		ids[nodes[i].Name] = k.reports.file.Nodes[nodes[i].Name].HostID
	}
	return snapshot.SameHosts(ids)
}

// factsOf returns what each node told.
func (k *Keeper) factsOf() (map[string]*facts.Facts, error) {
	k.reports.mu.Lock()
	defer k.reports.mu.Unlock()
	if err := k.loadReports(); err != nil {
		return nil, err
	}
	decoded := map[string]*facts.Facts{}
	out := make(map[string]*facts.Facts, len(k.reports.file.Nodes))
	for node, r := range k.reports.file.Nodes {
		f := decoded[r.Facts]
		if f == nil {
			f = new(facts.Facts)
			if err := json.Unmarshal(k.reports.file.Facts[r.Facts], f); err != nil || f.Version != facts.Version {
				continue // of another release: as if never told
			}
			decoded[r.Facts] = f
		}
		out[node] = f
	}
	return out, nil
}

// slurmNode returns what Slurm says of a node; nil = it has none of that name.
func (k *Keeper) slurmNode(ctx context.Context, name string) (*queries.Node, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	find := func() *queries.Node {
		if i := slices.IndexFunc(k.nodes, func(n queries.Node) bool { return n.Name == name }); i >= 0 {
			return &k.nodes[i]
		}
		return nil
	}
	if n := find(); n != nil {
		return n, nil
	}
	if time.Since(k.asked) < askAgain && k.nodes != nil {
		return nil, nil
	}
	nodes, err := k.Slurm.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	k.nodes, k.asked = nodes, time.Now()
	return find(), nil
}

// askAgain is how long an unknown name is taken to stay unknown: requests for such
// names must not keep slurmctld busy.
const askAgain = 10 * time.Second

// checkAddress: a node's facts come from the node. from must be an address that
// Slurm's NodeAddr of it, or its host name, stands for.
func (k *Keeper) checkAddress(ctx context.Context, n *queries.Node, from netip.Addr) error {
	var all []netip.Addr
	var unknown error
	for _, name := range []string{n.Addr, n.Host} {
		if name == "" {
			continue
		}
		addrs, err := k.resolve(ctx, name)
		if slices.Contains(addrs, from) {
			return nil // the other name is not asked for: a name service may be slow
		}
		all, unknown = append(all, addrs...), errors.Join(unknown, err)
	}
	if len(all) == 0 && unknown != nil {
		return fmt.Errorf("%w: the address of %s: %w", ErrReport, n.Name, unknown)
	}
	return fmt.Errorf("%w: %s came from %s, the node has %v in Slurm (NodeAddr)\nnext: on a node with several networks, set from= in its /etc/hpcenv/hpcenv.conf", ErrReport, n.Name, from, all)
}

func (k *Keeper) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	k.reports.mu.Lock()
	have, ok := k.reports.addresses[name]
	k.reports.mu.Unlock()
	if ok && time.Since(have.at) < resolveAgain {
		return have.addrs, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, err
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	k.reports.mu.Lock()
	defer k.reports.mu.Unlock()
	if k.reports.addresses == nil {
		k.reports.addresses = map[string]resolved{}
	}
	k.reports.addresses[name] = resolved{time.Now(), addrs}
	return addrs, nil
}

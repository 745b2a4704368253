// Package inventory keeps what the cluster's nodes are as immutable snapshots in the
// store (hooks/snapshot), and what nodes told of themselves.
//
// Enters: Slurm's answers (slurm/queries), the facts that nodes send, or, on a host
// without Slurm, the host itself. Leaves: a Snapshot.
package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// Keeper reads and refreshes a store's inventory.
type Keeper struct {
	// Store to keep it in.
	Store *cache.Store
	// Slurm to ask.
	Slurm queries.Client
	// Rules of the site for selecting; they are published with the nodes.
	Rules selection.Rules
	// Enforced: slurmctld runs contrib/slurm/job_submit.lua.
	Enforced bool
	// HostOnly: where Slurm does not answer and nothing is known, the host
	// stands for the cluster (a user's own store, also on a laptop). Without it
	// that is an error.
	HostOnly bool
	// ReadOnly: what Slurm answers is not published.
	ReadOnly bool
	// MaxAge of an answer that Current takes; 0 = one minute.
	MaxAge time.Duration

	mu      sync.Mutex
	cluster string
	// nodes as Slurm had them when it was last asked.
	nodes []queries.Node
	asked time.Time

	reports reports
}

// Current returns an inventory no older than MaxAge. note is a line for people
// if Slurm could not be asked and an older answer had to do.
func (k *Keeper) Current(ctx context.Context) (inv *snapshot.Snapshot, note string, err error) {
	age := k.MaxAge
	if age == 0 {
		age = time.Minute
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	stored, at, serr := k.read()
	if serr == nil && time.Since(at) < age && stored.Complete() {
		return stored, "", nil
	}
	inv, err = k.refresh(ctx)
	if err == nil || serr != nil {
		return inv, "", err
	}
	return stored, fmt.Sprintf("the nodes are as of %s: %v", at.Local().Format(time.DateTime), err), nil
}

// Known returns the newest inventory there is without asking Slurm; with HostOnly
// and none, this host, which note then says. Otherwise a store without one is a
// cache.ErrNotFound error.
func (k *Keeper) Known() (inv *snapshot.Snapshot, note string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stored, _, err := k.read()
	if !errors.Is(err, cache.ErrNotFound) || !k.HostOnly {
		return stored, "", err
	}
	// Not published: it is no answer of Slurm's.
	inv, err = host(context.Background())
	return inv, "Slurm was not asked for its nodes (offline): this host stands for them", err
}

// Refresh asks Slurm and publishes what is new.
func (k *Keeper) Refresh(ctx context.Context) (*snapshot.Snapshot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refresh(ctx)
}

func (k *Keeper) refresh(ctx context.Context) (*snapshot.Snapshot, error) {
	inv, err := k.ask(ctx)
	if err != nil || k.ReadOnly {
		return inv, err
	}
	if err := k.publish(inv); err != nil {
		return nil, err
	}
	return inv, nil
}

// publish keeps inv as the newest.
func (k *Keeper) publish(inv *snapshot.Snapshot) error {
	data, err := json.Marshal(inv)
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	dir := filepath.Join(k.Store.Root(), "inventory")
	if err := k.publishRules(dir); err != nil {
		return err
	}
	current := filepath.Join(dir, "current")
	if have, err := os.ReadFile(current); err == nil && strings.TrimSpace(string(have)) == digest {
		now := time.Now()
		if err := os.Chtimes(current, now, now); err != nil {
			return fmt.Errorf("%w: inventory: %w", cache.ErrStore, err)
		}
		return nil
	}
	if err := k.save(filepath.Join(dir, digest+".json"), string(data)); err != nil {
		return err
	}
	return k.save(current, digest+"\n")
}

// publishRules keeps the rules that snapshots name.
func (k *Keeper) publishRules(dir string) error {
	path := filepath.Join(dir, planning.RulesName(k.Rules.Digest()))
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	data, err := k.Rules.Canonical()
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	return k.save(path, string(data))
}

func (k *Keeper) save(path, text string) error {
	return k.Store.SaveFile(path, 0o444, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// ask asks Slurm, or looks at the host where that is what counts.
func (k *Keeper) ask(ctx context.Context) (*snapshot.Snapshot, error) {
	nodes, err := k.Slurm.Nodes(ctx)
	if err != nil {
		if k.HostOnly && ctx.Err() == nil {
			return host(ctx)
		}
		return nil, fmt.Errorf("inventory: %w", err)
	}
	if k.cluster == "" {
		if k.cluster, err = k.Slurm.ClusterName(ctx); err != nil {
			return nil, fmt.Errorf("inventory: %w", err)
		}
	}
	partitions, err := k.Slurm.Partitions(ctx)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	k.nodes, k.asked = nodes, time.Now()
	told, err := k.factsOf()
	if err != nil {
		return nil, err
	}
	s := Build(k.cluster, nodes, partitions, told)
	s.Rules, s.Enforced, s.SameHost = k.Rules.Digest(), k.Enforced, k.sameHosts(nodes)
	if s.Plugins, err = k.Slurm.Plugins(ctx); err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	return s, nil
}

// host is a snapshot of this host alone.
func host(ctx context.Context) (*snapshot.Snapshot, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("inventory: uname: %w", err)
	}
	arch, name := unix.ByteSliceToString(u.Machine[:]), unix.ByteSliceToString(u.Nodename[:])
	node := queries.Node{Name: name, Arch: arch, Platform: queries.Platform(arch)}
	return Build("", []queries.Node{node}, nil, map[string]*facts.Facts{name: facts.Read(ctx, "/")}), nil
}

// read returns the stored snapshot and when it was last found right.
func (k *Keeper) read() (*snapshot.Snapshot, time.Time, error) {
	return Read(k.Store)
}

// Read returns the newest snapshot of a store and when it was last found right.
// A store without one is a cache.ErrNotFound error.
func Read(s *cache.Store) (*snapshot.Snapshot, time.Time, error) {
	snap, _, at, err := snapshot.Read(s.Root())
	switch {
	case errors.Is(err, snapshot.ErrNone):
		return nil, time.Time{}, fmt.Errorf("%w: %w", cache.ErrNotFound, err)
	case err != nil:
		return nil, time.Time{}, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	return snap, at, nil
}

// Package inventory keeps what the cluster's nodes are as immutable snapshots
// in the store: inventory/<digest>.json, with inventory/current naming the
// newest.
//
// Enters: Slurm's answers (slurm/queries) or, on a host without Slurm, the host
// itself. Leaves: an Inventory.
package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// Version of the file's form.
const Version = 1

// Inventory is one snapshot.
type Inventory struct {
	Version int `json:"version"`
	// Cluster is Slurm's ClusterName; "" without Slurm.
	Cluster string         `json:"cluster"`
	Nodes   []queries.Node `json:"nodes"`
}

// Platforms counts nodes by conda subdir; nodes of which Slurm does not know
// the architecture yet do not count.
func (i *Inventory) Platforms() map[string]int {
	out := map[string]int{}
	for _, n := range i.Nodes {
		if n.Platform != "" {
			out[n.Platform]++
		}
	}
	return out
}

// complete tells whether every node has told its architecture. One that has not
// may do so any moment (it is just starting), so such an answer does not age.
func (i *Inventory) complete() bool {
	for _, n := range i.Nodes {
		if n.Platform == "" {
			return false
		}
	}
	return true
}

// Keeper reads and refreshes a store's inventory.
type Keeper struct {
	// Store to keep it in.
	Store *cache.Store
	// Slurm to ask.
	Slurm queries.Client
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
}

// Current returns an inventory no older than MaxAge. note is a line for people
// if Slurm could not be asked and an older answer had to do.
func (k *Keeper) Current(ctx context.Context) (inv *Inventory, note string, err error) {
	age := k.MaxAge
	if age == 0 {
		age = time.Minute
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	stored, at, serr := k.read()
	if serr == nil && time.Since(at) < age && stored.complete() {
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
func (k *Keeper) Known() (inv *Inventory, note string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stored, _, err := k.read()
	if !errors.Is(err, cache.ErrNotFound) || !k.HostOnly {
		return stored, "", err
	}
	// Not published: it is no answer of Slurm's.
	inv, err = host()
	return inv, "Slurm was not asked for its nodes (offline): this host stands for them", err
}

// Refresh asks Slurm and publishes what is new.
func (k *Keeper) Refresh(ctx context.Context) (*Inventory, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refresh(ctx)
}

func (k *Keeper) refresh(ctx context.Context) (*Inventory, error) {
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
func (k *Keeper) publish(inv *Inventory) error {
	data, err := json.Marshal(inv)
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	dir := filepath.Join(k.Store.Root(), "inventory")
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

func (k *Keeper) save(path, text string) error {
	return k.Store.SaveFile(path, 0o444, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// ask asks Slurm, or looks at the host where that is what counts.
func (k *Keeper) ask(ctx context.Context) (*Inventory, error) {
	nodes, err := k.Slurm.Nodes(ctx)
	if err != nil {
		if k.HostOnly && ctx.Err() == nil {
			return host()
		}
		return nil, fmt.Errorf("inventory: %w", err)
	}
	if k.cluster == "" {
		if k.cluster, err = k.Slurm.ClusterName(ctx); err != nil {
			return nil, fmt.Errorf("inventory: %w", err)
		}
	}
	return &Inventory{Version: Version, Cluster: k.cluster, Nodes: nodes}, nil
}

// host is an inventory of this host alone.
func host() (*Inventory, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("inventory: uname: %w", err)
	}
	arch := unix.ByteSliceToString(u.Machine[:])
	n := queries.Node{Name: unix.ByteSliceToString(u.Nodename[:]), Arch: arch, Platform: queries.Platform(arch)}
	return &Inventory{Version: Version, Nodes: []queries.Node{n}}, nil
}

// read returns the stored snapshot and when it was last found right.
func (k *Keeper) read() (*Inventory, time.Time, error) {
	return Read(k.Store)
}

// Read returns the newest snapshot of a store and when it was last found right.
// A store without one is a cache.ErrNotFound error.
func Read(s *cache.Store) (*Inventory, time.Time, error) {
	dir := filepath.Join(s.Root(), "inventory")
	current := filepath.Join(dir, "current")
	st, err := os.Stat(current)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}, fmt.Errorf("%w: %s has no inventory yet", cache.ErrNotFound, s.Root())
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("%w: inventory: %w", cache.ErrStore, err)
	}
	name, err := os.ReadFile(current)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("%w: inventory: %w", cache.ErrStore, err)
	}
	digest := strings.TrimSpace(string(name))
	if len(digest) != sha256.Size*2 || strings.Trim(digest, "0123456789abcdef") != "" {
		return nil, time.Time{}, fmt.Errorf("%w: %s does not hold a digest", cache.ErrStore, current)
	}
	data, err := os.ReadFile(filepath.Join(dir, digest+".json"))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("%w: inventory: %w", cache.ErrStore, err)
	}
	inv := new(Inventory)
	if err := json.Unmarshal(data, inv); err != nil {
		return nil, time.Time{}, fmt.Errorf("%w: inventory/%s.json: %w", cache.ErrStore, digest, err)
	}
	return inv, st.ModTime(), nil
}

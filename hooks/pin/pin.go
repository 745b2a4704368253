// Package pin is what a submission carries with its job, so that every node
// runs the lock as it was submitted: the lock's digest, the environment, its id
// and its activation. It travels in the job's own environment and survives
// --export=NONE and requeue.
package pin

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/envs/editable"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

const (
	// Variable is the name under which Slurm shows the pin to steps.
	Variable = "SLURM_SPANK_HPCENV_PIN"
	// PrologVariable is its name in prolog and epilog.
	PrologVariable = "SPANK_HPCENV_PIN"
	// MaxBytes bounds a pin on the wire: it is copied into every step.
	MaxBytes = 4096
	// wireVersion leads the wire form; the shim reads it and what follows it up
	// to the second colon, never the JSON.
	wireVersion = "1"
)

// ErrPin is the class of all errors about a pin's form.
var ErrPin = errors.New("pin cannot be used")

// Delivery tells how an environment reaches a node.
type Delivery string

const (
	// Tree: the cluster's store; its trees are bound at the prefix root.
	Tree Delivery = "tree"
	// Private: a group's part of the cluster's store; its trees are bound at the prefix
	// root, for the step's own tasks alone.
	Private Delivery = "private"
	// Own: a user's own store; the tree is the prefix, root mounts nothing.
	Own Delivery = "own"
)

// Pin is one submission's choice. Unknown JSON fields are ignored, so a newer
// submit host and an older node understand one another within a wire version.
type Pin struct {
	// Lock is the sha256 of the lock's bytes; LockPath is where it lay, for
	// messages only.
	Lock     string `json:"lock"`
	LockPath string `json:"path,omitempty"`
	// Choice is what nodes get, where Plan does not say another; the only one of most
	// jobs. Its fields stand beside the pin's own.
	Choice
	// Others are what further kinds of node get.
	Others []Choice `json:"others,omitempty"`
	// Named: the user named the environment.
	Named bool `json:"named,omitempty"`
	// Plan says which kind of node gets which of the choices; nil = all get Choice, and
	// nothing was judged.
	Plan *selection.PinnedPlan `json:"plan,omitempty"`
	// Snapshot is the digest of what was known of the cluster's nodes, Description that of
	// what the lock asks of nodes; "" = the store does not have it.
	Snapshot    string `json:"snap,omitempty"`
	Description string `json:"desc,omitempty"`
	// Wish: the lock names no environments (uv.lock), Environment is a wish; it asks
	// nothing of nodes but their platform.
	Wish bool `json:"wish,omitempty"`
	// Store is set for a user's own store only. Nodes know the cluster's.
	Store string `json:"store,omitempty"`
	// Group is set if the environment lies in a group's part of the cluster's store:
	// the folder's name below private/, which is the group's number.
	Group string `json:"group,omitempty"`
	// Step: an srun inside a job chose for its own step; it wins over the job's.
	Step bool `json:"step,omitempty"`
	// SameHost are nodes on which the job may land that have equal host identifiers, as
	// host lists; of most clusters there are none.
	SameHost []string `json:"same_host,omitempty"`
	// Token is random; it binds a submission to its lease.
	Token string `json:"token,omitempty"`
}

// Choice is one environment of the lock.
type Choice struct {
	// Environment is its name.
	Environment string `json:"env"`
	// ID of the environment; it covers all platforms.
	ID string `json:"id"`
	// Platforms (conda subdirs) that the lock has for the environment.
	Platforms []string `json:"platforms"`
	// Activation is the digest of the manifest's part of the activation; ""
	// when there is none. Inline is its canonical JSON when the store does not
	// hold it.
	Activation string          `json:"act,omitempty"`
	Inline     json.RawMessage `json:"inline,omitempty"`
	// Overlay is what the user's own project adds to the environment; nil = nothing.
	Overlay *Overlay `json:"overlay,omitempty"`
}

// Take makes an environment that the pin has the pin's Choice. False: the pin does not
// have it.
func (p *Pin) Take(environment string) bool {
	if p.Environment == environment {
		return true
	}
	for i := range p.Others {
		if p.Others[i].Environment == environment {
			p.Choice, p.Others[i] = p.Others[i], p.Choice
			return true
		}
	}
	return false
}

// Of returns the pin's Choice of an environment; nil = it has none.
func (p *Pin) Of(environment string) *Choice {
	if p.Environment == environment {
		return &p.Choice
	}
	for i := range p.Others {
		if p.Others[i].Environment == environment {
			return &p.Others[i]
		}
	}
	return nil
}

// Overlay says where the files lie that activation adds to an environment, and
// which state of their repositories the projects were in when the job was
// submitted (the sources themselves stay live).
type Overlay struct {
	// Dir is absolute, on storage that the nodes see; named by its content.
	Dir string `json:"dir"`
	// PerPlatform: each platform (conda subdir) has its own part, in a directory of
	// its name.
	PerPlatform bool `json:"per_platform,omitempty"`
	// Sources are the projects.
	Sources []editable.Source `json:"sources,omitempty"`
}

// OverlayDir is the overlay's directory for a platform; "" = there is none.
func (p *Choice) OverlayDir(platform string) string {
	if p.Overlay == nil {
		return ""
	}
	return editable.OverlayDir(p.Overlay.Dir, p.Overlay.PerPlatform, platform)
}

// Delivery of the pin.
func (p *Pin) Delivery() Delivery {
	switch {
	case p.Store != "":
		return Own
	case p.Group != "":
		return Private
	}
	return Tree
}

// Within is the part of the cluster's store, at store on this host, in which the
// environment lies, or the user's own store.
func (p *Pin) Within(store string) string {
	switch p.Delivery() {
	case Own:
		return p.Store
	case Private:
		return filepath.Join(store, "private", p.Group)
	}
	return store
}

// Encode returns the wire form "1:DELIVERY:JSON", or an error of class ErrPin
// if it would exceed MaxBytes.
func (p *Pin) Encode() (string, error) {
	// Not json.Marshal: it would escape <, > and & in Inline, whose digest is
	// over the bytes as they are.
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return "", fmt.Errorf("%w: %v", ErrPin, err)
	}
	wire := wireVersion + ":" + string(p.Delivery()) + ":" + strings.TrimSuffix(b.String(), "\n")
	if len(wire) > MaxBytes {
		return "", fmt.Errorf("%w: it has %d bytes, at most %d travel with a job", ErrPin, len(wire), MaxBytes)
	}
	return wire, nil
}

// Decode reads and checks a wire form. The value comes from a job's
// environment, so nothing in it is trusted: digests and ids must be hex, names
// and paths clean.
func Decode(wire string) (*Pin, error) {
	if len(wire) > MaxBytes {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrPin, MaxBytes)
	}
	parts := strings.SplitN(wire, ":", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("%w: not of the form VERSION:DELIVERY:JSON", ErrPin)
	}
	if parts[0] != wireVersion {
		return nil, fmt.Errorf("%w: it has version %q, this hpcenv reads %s; the submit host has another hpcenv than this node", ErrPin, parts[0], wireVersion)
	}
	var p Pin
	if err := json.Unmarshal([]byte(parts[2]), &p); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrPin, err)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if string(p.Delivery()) != parts[1] {
		return nil, fmt.Errorf("%w: it says delivery %q and means %q", ErrPin, parts[1], p.Delivery())
	}
	return &p, nil
}

func (p *Pin) check() error {
	switch {
	case !isHex(p.Lock, 64):
		return fmt.Errorf("%w: lock digest %q is not 64 hex digits", ErrPin, p.Lock)
	case p.Snapshot != "" && !isHex(p.Snapshot, 64), p.Description != "" && !isHex(p.Description, 64):
		return fmt.Errorf("%w: digests of nodes and description (%q, %q) are not 64 hex digits", ErrPin, p.Snapshot, p.Description)
	case p.Store != "" && (!filepath.IsAbs(p.Store) || filepath.Clean(p.Store) != p.Store):
		return fmt.Errorf("%w: store %q is not a clean absolute path", ErrPin, p.Store)
	}
	if p.Group != "" && (p.Store != "" || !isGroup(p.Group)) {
		return fmt.Errorf("%w: group %q is not the number of a group of the cluster's store", ErrPin, p.Group)
	}
	if err := p.Choice.check(); err != nil {
		return err
	}
	for i := range p.Others {
		if err := p.Others[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Choice) check() error {
	switch {
	case !isHex(p.ID, 32):
		return fmt.Errorf("%w: environment id %q is not 32 hex digits", ErrPin, p.ID)
	case p.Activation != "" && !isHex(p.Activation, 64):
		return fmt.Errorf("%w: activation digest %q is not 64 hex digits", ErrPin, p.Activation)
	case p.Environment == "" || strings.ContainsAny(p.Environment, "/\x00\n"):
		return fmt.Errorf("%w: environment name %q", ErrPin, p.Environment)
	case p.Overlay != nil && (!filepath.IsAbs(p.Overlay.Dir) || filepath.Clean(p.Overlay.Dir) != p.Overlay.Dir || strings.ContainsAny(p.Overlay.Dir, "\x00\n:")):
		return fmt.Errorf("%w: overlay %q is not a clean absolute path without colons", ErrPin, p.Overlay.Dir)
	}
	for _, name := range p.Platforms {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00\n") {
			return fmt.Errorf("%w: platform %q", ErrPin, name)
		}
	}
	return nil
}

// HasPlatform tells whether the lock has the environment for a conda subdir.
func (p *Choice) HasPlatform(subdir string) bool {
	for _, s := range p.Platforms {
		if s == subdir {
			return true
		}
	}
	return false
}

// isGroup: a group's number as the system writes it.
func isGroup(s string) bool {
	n, err := strconv.ParseUint(s, 10, 32)
	return err == nil && strconv.FormatUint(n, 10) == s
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Package health is what a node does on its own account: it asks its GPUs, reads what
// it is, keeps both for launches, and tells hpcenvd when what it is changed.
//
// Enters: the node, and /etc/hpcenv/hpcenv.conf. Leaves: gpu.json and facts.json in
// the run directory, and a message to the daemon; a State, in one line, for the site's
// health check. What is wrong with a GPU is said; only where the site asks for it is the
// node drained (Drainer).
package health

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// Options of a Run.
type Options struct {
	// Root is where the node is read; "" = /. Recorded trees are read with another.
	Root string
	// RunDir holds the record; it is made if it is not there.
	RunDir string
	// Conf is the configuration's path; "" = clientconf.Path.
	Conf string
	// Node is the name that Slurm has for this one.
	Node string
	// Jitter bounds how long a message waits, so that nodes that boot together do not
	// tell together; 0 = none.
	Jitter time.Duration
	// GPU says how the GPUs are asked; RunDir is put in. With a Root of a recorded
	// node they are asked only if GPU names a Program.
	GPU gpu.Options
	// Stderr gets what an administrator should know.
	Stderr io.Writer
}

// tellAgain is the age of a message that is sent again though nothing changed: the
// daemon's store may have been made anew.
const tellAgain = 24 * time.Hour

// sentName is the file that says what was told last, as a digest; its time is when.
const sentName = "facts.sent"

// Result of looking at a node.
type Result struct {
	Facts *facts.Facts
	// GPU is what is kept of its GPUs; nil = nothing is.
	GPU *gpu.Record
}

// Look asks the GPUs, reads the node, and keeps both. Errors: what could not be kept;
// everything else is among the facts' own problems and in the verdict on the GPUs, of
// which Stderr gets what is not a warning only. There is a Result unless the run
// directory cannot be used.
func Look(ctx context.Context, o Options) (*Result, error) {
	if err := os.MkdirAll(o.RunDir, 0o755); err != nil {
		return nil, fmt.Errorf("the node's facts: %w", err)
	}
	root := o.Root
	if root == "" {
		root = "/"
	}
	record, err := askGPUs(ctx, o, root)
	r := &Result{GPU: record}
	var report *gpu.Report
	if record != nil {
		report = record.Report
	}
	r.Facts = facts.ReadWith(ctx, root, facts.Options{GPUs: gpu.Refine(facts.DefaultGPUs(), report)})
	for _, p := range r.Facts.Problems {
		fmt.Fprintln(o.Stderr, p)
	}
	if serr := facts.Save(filepath.Join(o.RunDir, facts.RecordFile), r.Facts); serr != nil {
		err = errors.Join(err, fmt.Errorf("the node's facts cannot be kept: %w", serr))
	}
	return r, err
}

// Tell tells the daemon what the node is, if one is configured and it has not been told.
func Tell(ctx context.Context, o Options, f *facts.Facts) error {
	remote, err := daemonOf(o)
	if remote == nil || err != nil {
		return err
	}
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("the node's facts: %w", err)
	}
	return tell(ctx, o, remote, data)
}

// Run is Look, and Tell of what was kept.
func Run(ctx context.Context, o Options) error {
	r, err := Look(ctx, o)
	if r == nil {
		return err
	}
	return errors.Join(err, Tell(ctx, o, r.Facts))
}

// daemonOf is whom to tell; nil = nobody is configured.
func daemonOf(o Options) (*api.Remote, error) {
	path := o.Conf
	if path == "" {
		path = clientconf.Path
	}
	c, err := clientconf.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case c.Daemon == "":
		return nil, nil
	}
	r, err := api.Place{Daemon: c.Daemon, Owner: c.Owner, MungeSocket: c.MungeSocket}.Remote()
	if err != nil {
		return nil, err
	}
	r.From, err = from(c.From, o.Node)
	if err != nil {
		return nil, fmt.Errorf("%s: from: %w", path, err)
	}
	return r, nil
}

// from is the address that the daemon knows the node by: as configured, else what the
// node's name stands for, if this host has that address. nil = the kernel chooses.
func from(configured, node string) (net.IP, error) {
	if configured != "" {
		ip := net.ParseIP(configured)
		if ip == nil {
			return nil, fmt.Errorf("%q is not an address", configured)
		}
		return ip, nil
	}
	addrs, err := net.LookupIP(node)
	if err != nil {
		return nil, nil // the daemon may know it by an address alone
	}
	for _, ip := range addrs {
		if l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0")); err == nil {
			if err := l.Close(); err != nil {
				return nil, err
			}
			return ip, nil
		}
	}
	return nil, nil
}

// tell sends data if it is not what was sent last.
func tell(ctx context.Context, o Options, remote *api.Remote, data []byte) error {
	sum := sha256.Sum256(data)
	mark := remote.Address + " " + hex.EncodeToString(sum[:])
	sent := filepath.Join(o.RunDir, sentName)
	if have, err := os.ReadFile(sent); err == nil && strings.TrimSpace(string(have)) == mark {
		if st, err := os.Stat(sent); err == nil && time.Since(st.ModTime()) < tellAgain {
			return nil
		}
	}
	if o.Jitter > 0 {
		wait := time.NewTimer(rand.N(o.Jitter))
		defer wait.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
		}
	}
	// From here on it is not known what the daemon has, until it says so: what was told
	// before must not pass for it.
	if err := os.Remove(sent); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("what was told before cannot be forgotten: %w", err)
	}
	if err := remote.PutFacts(ctx, o.Node, data); err != nil {
		return err
	}
	// It lies in root's own directory, which goes with the boot.
	if err := os.WriteFile(sent, []byte(mark+"\n"), 0o644); err != nil {
		return fmt.Errorf("the node's facts were told, which cannot be noted: %w", err)
	}
	return nil
}

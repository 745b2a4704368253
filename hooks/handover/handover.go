package handover

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

const (
	// Inbox is the store's directory in which everybody may leave something.
	Inbox = "inbox"
	// Unfinished begins the names of files that are still being written.
	Unfinished = ".new-"
	// Suffix ends the names of those that are complete.
	Suffix = ".json"
)

// Patience is how long a submission waits for the daemon.
const Patience = 50 * time.Millisecond

// Of is what a submission hands over for its pin.
func Of(p *pin.Pin, wire, context, host, job string, step bool) *api.Handover {
	h := &api.Handover{Kind: api.HandoverSubmit, Step: step, Token: p.Token, IDs: []string{p.ID}, Pin: wire, Context: context, Host: host, Job: job}
	for i := range p.Others {
		h.IDs = append(h.IDs, p.Others[i].ID)
	}
	return h
}

// Give hands over: to the daemon at socket if it answers within Patience, else in a file
// of the store's inbox/. It returns an error only if neither can be done.
func Give(ctx context.Context, socket, store string, h *api.Handover) error {
	err := ask(ctx, socket, h)
	if err == nil {
		return nil
	}
	if lerr := leave(store, h); lerr != nil {
		return errors.Join(err, lerr)
	}
	return nil
}

// ask is Give over the socket.
func ask(ctx context.Context, socket string, h *api.Handover) error {
	if socket == "" {
		return errors.New("no daemon on this host")
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	client, err := api.DialContext(ctx, socket)
	if err != nil {
		return err
	}
	return client.HandOver(ctx, h)
}

// leave writes a file of inbox/, whole under its name or not at all.
func leave(store string, h *api.Handover) (err error) {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	dir, name := filepath.Join(store, Inbox), rand.Text()
	temp := filepath.Join(dir, Unfinished+name)
	// The daemon's account, which is another, has to read it.
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("inbox of the store: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("inbox of the store: %w", errors.Join(err, os.Remove(temp)))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	// Whatever the umask says.
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(dir, name+Suffix))
}

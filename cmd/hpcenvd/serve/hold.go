//go:build linux

package serve

import (
	"context"
	"log/slog"

	"github.com/hpcenv/hpcenv/cache"
)

// hold takes the store, so that one daemon works on it. Where it is lost later, lost gets
// the error: a daemon that may not publish has to end.
func hold(ctx context.Context, store *cache.Store, log *slog.Logger, lost chan<- error) (*cache.Hold, error) {
	h, err := store.Hold(ctx, cache.HoldOptions{Waiting: func(who cache.Holder) {
		log.Warn("the store's holder is silent; it is replaced if it stays so for a minute", "host", who.Host, "pid", who.PID, "since", who.Since)
	}})
	if err != nil {
		return nil, err
	}
	go func() {
		select {
		case <-h.Lost():
			lost <- h.Err()
		case <-ctx.Done():
		}
	}()
	return h, nil
}

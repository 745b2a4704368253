package service

import (
	"context"
	"errors"
	"time"
)

// ErrBusy: prepares ran all the time.
var ErrBusy = errors.New("prepares are running")

// Alone calls do while no prepare runs, for who removes what prepares may rely on. It
// waits for a moment without prepares for at most patience, without keeping any from
// starting (then the error is ErrBusy); those that come while do runs wait for it.
func (s *Service) Alone(ctx context.Context, patience time.Duration, do func() error) error {
	// Never Lock: a waiting writer would stop new prepares, and, since one may ask for
	// another, for good.
	for deadline := time.Now().Add(patience); !s.gate.TryLock(); {
		if time.Now().After(deadline) {
			return ErrBusy
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	defer s.gate.Unlock()
	return do()
}

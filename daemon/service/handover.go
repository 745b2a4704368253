package service

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/prepare"
)

const (
	// askFor is how long an archive that was asked for is taken.
	askFor = time.Hour
	// maxHandOver bounds an archive of which the lock gives no size, in bytes.
	maxHandOver = 20 << 30
)

// wanted holds the archives that clients were asked for: nothing else is
// taken, so nobody can fill the store with what no lock names.
type wanted struct {
	mu    sync.Mutex
	bySHA map[string]want
}

type want struct {
	source cache.Source
	until  time.Time
}

// ask notes what is needed and returns the error that tells the client.
func (w *wanted) ask(need *prepare.NeedLocalError) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for sha, x := range w.bySHA {
		if now.After(x.until) {
			delete(w.bySHA, sha)
		}
	}
	if w.bySHA == nil {
		w.bySHA = map[string]want{}
	}
	out := &api.NeedError{}
	add := func(src cache.Source, location string, err error) error {
		if err != nil {
			return err
		}
		w.bySHA[src.SHA256] = want{source: src, until: now.Add(askFor)}
		out.Archives = append(out.Archives, api.Need{Package: src.Name, Location: location, SHA256: src.SHA256, Size: src.Size})
		return nil
	}
	for _, p := range need.Packages {
		src, err := prepare.Source(p)
		if err := add(src, p.Location, err); err != nil {
			return err
		}
	}
	for _, p := range need.Wheels {
		src, err := prepare.WheelSource(p)
		if err := add(src, p.Location, err); err != nil {
			return err
		}
	}
	return out
}

func (w *wanted) get(sha string) (cache.Source, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x, ok := w.bySHA[sha]
	return x.source, ok && time.Now().Before(x.until)
}

// PutArchive takes the bytes of an archive that Prepare asked for, from any
// user: what counts is that they have the digest.
func (s *Service) PutArchive(ctx context.Context, sha string, r io.Reader) error {
	src, ok := s.wanted.get(sha)
	if !ok {
		return api.Errorf(api.ExitUsage, "archive %s was not asked for\nnext: prepare the lock that names it", sha)
	}
	if src.Size == 0 {
		r = io.LimitReader(r, maxHandOver)
	}
	return s.opts.Store.ImportArchive(ctx, r, src)
}

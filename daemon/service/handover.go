package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
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
	for _, p := range need.Packages {
		src, err := prepare.Source(p)
		if err != nil {
			return err
		}
		w.bySHA[p.SHA256] = want{source: src, until: now.Add(askFor)}
		out.Archives = append(out.Archives, api.Need{Package: src.Name, Location: p.Location, SHA256: p.SHA256, Size: p.Size})
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
func (s *Service) PutArchive(_ context.Context, sha string, r io.Reader) error {
	src, ok := s.wanted.get(sha)
	if !ok {
		return api.Errorf(api.ExitUsage, "archive %s was not asked for\nnext: prepare the lock that names it", sha)
	}
	limit := int64(maxHandOver)
	if src.Size > 0 {
		limit = src.Size
	}
	return s.opts.Store.SaveFile(s.opts.Store.ArchivePath(src), 0o444, func(w io.Writer) error {
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, limit+1))
		if err != nil {
			return fmt.Errorf("package %s: take over its archive: %w", src.Name, err)
		}
		if n > limit || src.Size > 0 && n != src.Size {
			return fmt.Errorf("%w: package %s: what was handed over has not the size that the lock says (%d bytes)", cache.ErrIntegrity, src.Name, limit)
		}
		if have := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(have, sha) {
			return fmt.Errorf("%w: package %s: what was handed over has sha256 %s, the lock says %s", cache.ErrIntegrity, src.Name, have, sha)
		}
		return nil
	})
}

package mungehttp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hpcenv/hpcenv/internal/munge"
)

// ErrInstance is the class of refusals of requests that are for an instance of the daemon
// that is gone: the sender asks for the new one and asks again.
var ErrInstance = fmt.Errorf("%w: it was made for an earlier run of hpcenvd", munge.ErrCredential)

// processes of MUNGE at once, also for those who have no credential.
const processes = 8

// Gate finds out who sends requests. It may be used by several goroutines.
type Gate struct {
	munge    munge.Munge
	instance string
	slots    *semaphore.Weighted

	mu    sync.Mutex
	used  map[[sha256.Size]byte]time.Time // credentials, and until when they could live
	swept time.Time
}

// NewGate returns one for the daemon's instance.
func NewGate(m munge.Munge, instance string) *Gate {
	return &Gate{munge: m, instance: instance, slots: semaphore.NewWeighted(processes), used: map[[sha256.Size]byte]time.Time{}}
}

// Sender is who sent a request, as munged vouches for.
type Sender struct {
	UID, GID int
}

// Enter says who sent r, and returns what to answer with, which must be closed, and the
// request with a body that is checked as it is read: its end is an error if it is not the
// one that the credential covers. Before Enter returns nothing of the body is read.
// Errors: munge.ErrCredential, ErrInstance, munge.ErrUnavailable.
func (g *Gate) Enter(w http.ResponseWriter, r *http.Request) (Sender, *Writer, *http.Request, error) {
	none := Sender{UID: -1, GID: -1}
	text := r.Header.Get(RequestHeader)
	body := r.Header.Get(BodyHeader)
	var c *munge.Credential
	err := g.bounded(r.Context(), func() (err error) {
		c, err = g.munge.Decode(r.Context(), text)
		return err
	})
	if err != nil {
		return none, nil, nil, err
	}
	s, err := unseal(c.Payload)
	switch {
	case err != nil:
		return none, nil, nil, fmt.Errorf("%w: %w", munge.ErrCredential, err)
	case c.Lifetime <= 0 || c.Lifetime > lifetime*time.Second:
		return none, nil, nil, fmt.Errorf("%w: it lives for %v, longer than %d s", munge.ErrCredential, c.Lifetime, lifetime)
	case s.instance != g.instance:
		return none, nil, nil, ErrInstance
	case s.digest != asked(r.Method, r.URL.RequestURI(), body):
		return none, nil, nil, fmt.Errorf("%w: it was made for another request", munge.ErrCredential)
	case !g.first(text):
		return none, nil, nil, fmt.Errorf("%w: used before", munge.ErrCredential)
	}
	in := *r
	in.Body = &checked{r: r.Body, hash: sha256.New(), want: body}
	r = &in
	return Sender{UID: c.UID, GID: c.GID}, newWriter(w, s.key), r, nil
}

// first notes that a credential was used, and tells whether that was for the first time:
// munged forgets when it is started anew.
func (g *Gate) first(credential string) bool {
	id, now := sha256.Sum256([]byte(credential)), time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.swept) > time.Minute {
		for id, until := range g.used {
			if now.After(until) {
				delete(g.used, id)
			}
		}
		g.swept = now
	}
	if _, again := g.used[id]; again {
		return false
	}
	// Clocks may differ by as much as it lives, either way.
	g.used[id] = now.Add(2*lifetime*time.Second + time.Minute)
	return true
}

// Refuse answers a request that Enter did not let in.
func (g *Gate) Refuse(w http.ResponseWriter, r *http.Request, status int, answer []byte) error {
	instance := g.instance
	var reply string
	err := g.bounded(r.Context(), func() (err error) {
		reply, err = g.munge.Encode(r.Context(), replyPayload(r.Header.Get(RequestHeader), status, instance, answer))
		return err
	})
	if err == nil {
		err = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
	}
	if err != nil {
		http.Error(w, "MUNGE", http.StatusServiceUnavailable)
		return fmt.Errorf("an answer cannot be signed: %w", err)
	}
	w.Header().Set(ReplyHeader, reply)
	w.Header().Set(InstanceHeader, instance)
	w.WriteHeader(status)
	_, err = w.Write(answer)
	return err
}

// bounded runs what starts a process of MUNGE.
func (g *Gate) bounded(ctx context.Context, do func() error) error {
	if err := g.slots.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%w: the client left: %w", munge.ErrUnavailable, err)
	}
	defer g.slots.Release(1)
	return do()
}

// checked is a body that is to have a digest.
type checked struct {
	r    io.ReadCloser
	hash hash.Hash
	want string
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(c.hash.Sum(nil)) != c.want {
		return n, fmt.Errorf("%w: the body is another one", munge.ErrCredential)
	}
	return n, err
}

func (c *checked) Close() error { return c.r.Close() }

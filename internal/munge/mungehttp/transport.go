package mungehttp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/internal/munge"
)

// Transport sends requests to one daemon. It is an http.RoundTripper; what it returns is
// the daemon's, or an error. It may be used by several goroutines.
type Transport struct {
	// Munge of this host.
	Munge munge.Munge
	// Owner is the uid that the daemon runs as.
	Owner int
	// From is the address to send from; nil = whichever the kernel takes.
	From net.IP

	mu       sync.Mutex
	instance string
	base     *http.Transport
}

const (
	// dialWithin bounds connecting.
	dialWithin = 5 * time.Second
	// answerWithin bounds the time that the daemon may take to say its instance.
	answerWithin = 10 * time.Second
	// maxRefusal bounds a refusal in bytes.
	maxRefusal = 1 << 20
)

// RoundTrip sends a request. One whose body cannot be read twice (GetBody) must have its
// sha256 in BodyHeader. Errors: munge.ErrUnavailable, ErrForged, and those of the network.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := bodySum(req)
	if err != nil {
		return nil, err
	}
	instance, err := t.current(req.Context(), req.URL.Host)
	if err != nil {
		return nil, err
	}
	resp, fresh, err := t.send(req, body, instance)
	if err != nil || fresh == "" || fresh == instance {
		return resp, err
	}
	// The daemon was started anew since.
	t.mu.Lock()
	t.instance = fresh
	t.mu.Unlock()
	if req.Body != nil && req.GetBody == nil {
		return resp, nil
	}
	if err := resp.Body.Close(); err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	resp, _, err = t.send(again, body, fresh)
	return resp, err
}

// CloseIdleConnections closes those that wait for further requests.
func (t *Transport) CloseIdleConnections() { t.network().CloseIdleConnections() }

// send sends a request for an instance. fresh is the daemon's instance if it refused.
func (t *Transport) send(req *http.Request, body, instance string) (resp *http.Response, fresh string, err error) {
	s := sealed{instance: instance, digest: asked(req.Method, req.URL.RequestURI(), body), key: random(keyBytes)}
	cred, err := t.Munge.EncodeFor(req.Context(), s.String(), t.Owner, lifetime*time.Second)
	if err != nil {
		return nil, "", err
	}
	out := req.Clone(req.Context())
	out.Header.Set(RequestHeader, cred)
	out.Header.Set(BodyHeader, body)
	if req.Body != nil && req.GetBody == nil {
		out.Header.Set("Expect", "100-continue") // it may be large, and refused
	}
	if resp, err = t.network().RoundTrip(out); err != nil {
		return nil, "", err
	}
	if status, err := strconv.Atoi(resp.Header.Get(StatusHeader)); err == nil {
		in, err := newReader(resp.Body, s.key, status)
		if err != nil {
			return nil, "", errors.Join(err, resp.Body.Close())
		}
		resp.StatusCode, resp.Status = status, fmt.Sprintf("%d %s", status, http.StatusText(status))
		resp.Body, resp.ContentLength = in, -1
		return resp, "", nil
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, "", err
	}
	fresh = resp.Header.Get(InstanceHeader)
	if err := t.verify(req.Context(), resp, cred, fresh, answer); err != nil {
		return nil, "", err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if resp.StatusCode != http.StatusConflict {
		fresh = ""
	}
	return resp, fresh, nil
}

// verify checks that a refusal is the daemon's, and answers the request that was sent
// with cred.
func (t *Transport) verify(ctx context.Context, resp *http.Response, cred, instance string, answer []byte) error {
	c, err := t.Munge.Decode(ctx, resp.Header.Get(ReplyHeader))
	switch {
	case errors.Is(err, munge.ErrUnavailable):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrForged, err)
	case c.UID != t.Owner:
		return fmt.Errorf("%w: it is of uid %d, hpcenvd runs as uid %d", ErrForged, c.UID, t.Owner)
	case c.Payload != replyPayload(cred, resp.StatusCode, instance, answer):
		return fmt.Errorf("%w: it answers another request", ErrForged)
	}
	return nil
}

// Probe asks the daemon at host (HOST:PORT) for its instance, unless it is known: that
// tells whether somebody is there.
func (t *Transport) Probe(ctx context.Context, host string) error {
	_, err := t.current(ctx, host)
	return err
}

// current is the daemon's instance as it was last heard, asked for if it never was.
func (t *Transport) current(ctx context.Context, host string) (string, error) {
	t.mu.Lock()
	known := t.instance
	t.mu.Unlock()
	if known != "" {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+InstancePath, nil)
	if err != nil {
		return "", err
	}
	resp, err := t.network().RoundTrip(req)
	if err != nil {
		return "", err
	}
	var said Instance
	err = json.NewDecoder(io.LimitReader(resp.Body, 4096)).Decode(&said)
	if err := errors.Join(err, resp.Body.Close()); err != nil || said.Instance == "" || len(said.Instance) > 64 {
		return "", fmt.Errorf("%w: it does not say which run of hpcenvd it is (%s)", ErrForged, resp.Status)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.instance = said.Instance
	return t.instance, nil
}

// network is what the requests are sent over.
func (t *Transport) network() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.base == nil {
		dialer := &net.Dialer{Timeout: dialWithin}
		if t.From != nil {
			dialer.LocalAddr = &net.TCPAddr{IP: t.From}
		}
		// Proxies are for what lies outside of the cluster.
		t.base = &http.Transport{DialContext: dialer.DialContext, DisableCompression: true, ExpectContinueTimeout: 5 * time.Second, IdleConnTimeout: 20 * time.Second}
	}
	return t.base
}

// bodySum is the sha256 of a request's body.
func bodySum(req *http.Request) (string, error) {
	if known := req.Header.Get(BodyHeader); known != "" {
		return known, nil
	}
	if req.Body == nil || req.Body == http.NoBody {
		return sum(nil), nil
	}
	if req.GetBody == nil {
		return "", fmt.Errorf("%s %s: the body's sha256 is to be in %s", req.Method, req.URL.Path, BodyHeader)
	}
	in, err := req.GetBody()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, in)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, in.Close())
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hpcenv/hpcenv/internal/munge"
)

// Remote talks to hpcenvd from another host: over TCP, every request with a MUNGE
// credential, every answer checked to be of the daemon's account.
type Remote struct {
	// Address of the daemon as host:port.
	Address string
	// Owner is the uid that the daemon runs as.
	Owner int
	// Munge of this host.
	Munge munge.Munge
	// From is the address to send from; invalid = whichever the kernel takes.
	From net.IP
}

const (
	// remoteTimeout bounds one request.
	remoteTimeout = 20 * time.Second
	// maxReply bounds an answer in bytes.
	maxReply = 1 << 20
)

// PutFacts tells what a node is. facts is the JSON of facts.Facts. Only root of that
// node may. Errors are *Error.
func (r *Remote) PutFacts(ctx context.Context, node string, facts []byte) error {
	_, err := r.do(ctx, http.MethodPut, "/v1/nodes/"+url.PathEscape(node)+"/facts", facts)
	return err
}

// do sends one request and returns the answer's body; one other than 2xx becomes its
// *Error.
func (r *Remote) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	cred, err := r.Munge.SignRequest(ctx, method, path, body)
	if err != nil {
		return nil, Errorf(ExitUnreachable, "hpcenvd at %s is not asked: %v\nnext: systemctl status munge", r.Address, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, Errorf(ExitUsage, "hpcenvd at %q: %v; it is to be HOST:PORT", r.Address, err)
	}
	req.Header.Set(munge.RequestHeader, cred)
	dialer := &net.Dialer{Timeout: dialTimeout}
	if r.From != nil {
		dialer.LocalAddr = &net.TCPAddr{IP: r.From}
	}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, Errorf(ExitUnreachable, "hpcenvd cannot be reached: %v\nnext: on its host, systemctl status hpcenvd; its configuration has nodes.listen", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, Errorf(ExitUnreachable, "hpcenvd at %s: the answer cannot be read: %v", r.Address, err)
	}
	if err := r.Munge.VerifyReply(ctx, resp.Header.Get(munge.ReplyHeader), cred, resp.StatusCode, answer, r.Owner); err != nil {
		return nil, Errorf(ExitUnreachable, "whoever listens at %s is not hpcenvd: %v\nnext: on that host, systemctl status hpcenvd; owner= in /etc/hpcenv/hpcenv.conf is to be the uid of its account", r.Address, err)
	}
	if resp.StatusCode/100 == 2 {
		return answer, nil
	}
	e := new(Error)
	if json.Unmarshal(answer, e) != nil || e.Message == "" {
		return nil, fmt.Errorf("hpcenvd at %s answers %s to %s %s", r.Address, resp.Status, method, path)
	}
	return nil, e
}

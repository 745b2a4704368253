package api

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/munge/mungehttp"
)

// Remote is hpcenvd as another host reaches it: over TCP, every request with a MUNGE
// credential, every answer checked to be of the daemon's account.
type Remote struct {
	// Address of the daemon as host:port.
	Address string
	// Owner is the uid that the daemon runs as.
	Owner int
	// Munge of this host.
	Munge munge.Munge
	// From is the address to send from; nil = whichever the kernel takes.
	From net.IP
}

// factsWithin bounds the telling of a node's facts.
const factsWithin = 20 * time.Second

// Dial returns a Client once somebody answered there; that it is the daemon each answer
// shows. Errors are *Error.
func (r *Remote) Dial(ctx context.Context) (*Client, error) {
	c, transport := r.client()
	if err := transport.Probe(ctx, r.Address); err != nil {
		return nil, r.lost(err)
	}
	return c, nil
}

func (r *Remote) client() (*Client, *mungehttp.Transport) {
	t := &mungehttp.Transport{Munge: r.Munge, Owner: r.Owner, From: r.From}
	return &Client{at: r.Address, host: r.Address, http: &http.Client{Transport: t}, lost: r.lost}, t
}

// lost says what an error of a request means.
func (r *Remote) lost(err error) *Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the address is named already
	}
	switch {
	case errors.Is(err, munge.ErrUnavailable):
		return Errorf(ExitUnreachable, "hpcenvd at %s is not asked: %v\nnext: systemctl status munge", r.Address, err)
	case errors.Is(err, mungehttp.ErrForged):
		return Errorf(ExitUnreachable, "whoever listens at %s is not hpcenvd: %v\nnext: on that host, systemctl status hpcenvd; owner= in /etc/hpcenv/hpcenv.conf is to be the account that it runs as", r.Address, err)
	}
	return Errorf(ExitUnreachable, "hpcenvd cannot be reached at %s: %v\nnext: tell the administrator, who sees more on its host with systemctl status hpcenvd (its configuration has nodes.listen); what is prepared already can be submitted and run without it", r.Address, err)
}

// PutFacts tells what a node is. facts is the JSON of facts.Facts. Only root of that
// node may. Errors are *Error.
func (r *Remote) PutFacts(ctx context.Context, node string, facts []byte) error {
	ctx, cancel := context.WithTimeout(ctx, factsWithin)
	defer cancel()
	c, transport := r.client()
	defer transport.CloseIdleConnections()
	resp, err := c.do(ctx, http.MethodPut, "/v1/nodes/"+url.PathEscape(node)+"/facts", bytes.NewReader(facts), int64(len(facts)), "")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hpcenv/hpcenv/internal/munge/mungehttp"
)

// Client talks to hpcenvd over its Unix socket (Dial), or over TCP with MUNGE
// (Remote.Dial). It implements Service. A Client may be used by several goroutines.
type Client struct {
	// Bring gets an archive with the user's credentials and returns the file that
	// holds it, which remove takes away. It fetches nothing else than what the lock
	// of the request names. nil = such archives cannot be brought.
	Bring func(ctx context.Context, req *PrepareRequest, n Need, report func(Event)) (path string, remove func() error, err error)

	// at is the socket or HOST:PORT, for messages; host is the latter in URLs.
	at, host string
	http     *http.Client
	// lost says what an error of the network means.
	lost func(error) *Error
}

var _ Service = (*Client)(nil)

// dialTimeout bounds connecting; a daemon that lives accepts at once.
const dialTimeout = 5 * time.Second

// Dial connects to the daemon at socket. Where nobody answers, the error is an
// *Error with ExitUnreachable that names the next step.
func Dial(socket string) (*Client, error) { return DialContext(context.Background(), socket) }

// DialContext is Dial; connecting ends with ctx.
func DialContext(ctx context.Context, socket string) (*Client, error) {
	dial := func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTimeout}
		return d.DialContext(ctx, "unix", socket)
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, unreachable(socket, err)
	}
	// The probe becomes the first connection of the pool.
	probe := make(chan net.Conn, 1)
	probe <- conn
	// The host is only a name: every connection goes to the socket.
	return &Client{at: socket, host: "hpcenvd", lost: func(err error) *Error { return unreachable(socket, err) }, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case c := <-probe:
				return c, nil
			default:
				return dial(ctx)
			}
		},
		DisableCompression: true,
	}}}, nil
}

func unreachable(socket string, err error) *Error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // the socket is named already
	}
	return Errorf(ExitUnreachable, "hpcenvd cannot be reached at %s: %v\nnext: tell the administrator, who sees more with systemctl status hpcenvd; what is prepared already can be submitted and run without it", socket, err)
}

// Prepare implements Service.
func (c *Client) Prepare(ctx context.Context, req *PrepareRequest, report func(Event)) (*PrepareResult, error) {
	again := *req
	req = &again
	handed := map[string]bool{}
	if report == nil {
		report = func(Event) {}
	}
	planned := false
	tell := func(e Event) {
		planned = planned || e.Type == EventPlan
		report(e)
	}
	for {
		body, err := json.Marshal(req)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		result, err := c.prepare(ctx, body, tell)
		var need *NeedError
		if !errors.As(err, &need) {
			return result, err
		}
		progress := false
		for _, n := range need.Archives {
			if n.Held {
				progress = progress || !req.Private
				req.Private = true
				continue
			}
			if handed[n.SHA256] {
				continue
			}
			if err := c.handOver(ctx, req, n, report); err != nil {
				return nil, err
			}
			req.Private = req.Private || n.Credential
			handed[n.SHA256], progress = true, true
		}
		// The same request again has the same plan, if that was told already.
		if planned {
			tell = func(e Event) {
				if e.Type != EventPlan {
					report(e)
				}
			}
		}
		if !progress {
			return nil, Errorf(ExitFailed, "hpcenvd asks again for archives that it was given: %v", need)
		}
	}
}

// prepare sends the request once and follows its stream.
func (c *Client) prepare(ctx context.Context, body []byte, report func(Event)) (*PrepareResult, error) {
	resp, err := c.do(ctx, http.MethodPost, "/v1/prepare", bytes.NewReader(body), int64(len(body)), "")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for {
		var m Message
		if err := dec.Decode(&m); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, Errorf(ExitUnreachable, "hpcenvd at %s went away while it worked: %v\nnext: the same command again, as soon as hpcenvd is back (administrators: systemctl status hpcenvd): what was fetched is kept", c.at, err)
		}
		switch {
		case m.Error != nil:
			return nil, m.Error
		case m.Result != nil:
			return m.Result, nil
		case len(m.Need) > 0:
			return nil, &NeedError{Archives: m.Need}
		case m.Event != nil:
			report(*m.Event)
		}
	}
}

// List implements Service.
func (c *Client) List(ctx context.Context) ([]Environment, error) {
	var out []Environment
	return out, c.get(ctx, "/v1/environments", &out)
}

// Inspect implements Service.
func (c *Client) Inspect(ctx context.Context, id string) (*EnvironmentDetail, error) {
	out := new(EnvironmentDetail)
	if err := c.get(ctx, "/v1/environments/"+url.PathEscape(id), out); err != nil {
		return nil, err
	}
	return out, nil
}

// Status implements Service.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	out := new(Status)
	if err := c.get(ctx, "/v1/status", out); err != nil {
		return nil, err
	}
	return out, nil
}

func (c *Client) get(ctx context.Context, path string, out any) error {
	return c.ask(ctx, http.MethodGet, path, out)
}

// ask sends a request without a body and decodes its answer.
func (c *Client) ask(ctx context.Context, method, path string, out any) error {
	resp, err := c.do(ctx, method, path, nil, 0, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return Errorf(ExitUnreachable, "hpcenvd at %s: the answer to %s cannot be read: %v", c.at, path, err)
	}
	return nil
}

// do sends one request; an answer other than 2xx becomes its *Error. sum is the sha256 of
// the body; it may be "" if the body lies in memory (bytes.Reader).
func (c *Client) do(ctx context.Context, method, path string, body io.Reader, size int64, sum string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.host+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if sum != "" {
		req.Header.Set(mungehttp.BodyHeader, sum)
	}
	if body != nil {
		req.ContentLength = size
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.lost(err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, c.lost(err)
	}
	answer := new(Error)
	if json.Unmarshal(text, answer) != nil || answer.Message == "" {
		answer = Errorf(ExitFailed, "hpcenvd at %s answers %s to %s %s: %s", c.at, resp.Status, method, path, bytes.TrimSpace(text))
	}
	return nil, answer
}

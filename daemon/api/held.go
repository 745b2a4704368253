package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Held opens an archive that the caller has, by sha256, and tells its size in bytes;
// a nil content means that it is not there. Reading to the content's end verifies it.
type Held func(sha256 string) (content io.ReadCloser, size int64, err error)

// PrepareHeld prepares with archives that the caller has. Nothing is fetched: prepare
// is asked once and again, and put is given what it asks for.
func PrepareHeld(ctx context.Context, req *PrepareRequest, held Held, report func(Event),
	prepare func(*PrepareRequest, func(Event)) (*PrepareResult, error), put func(n Need, content io.Reader, size int64) error) (*PrepareResult, error) {
	brought := *req
	brought.Brought, brought.Offline = true, true
	if report == nil {
		report = func(Event) {}
	}
	given := map[string]bool{}
	tell := report
	for {
		result, err := prepare(&brought, tell)
		var need *NeedError
		if !errors.As(err, &need) {
			return result, err
		}
		for _, n := range need.Archives {
			if given[n.SHA256] {
				return nil, Errorf(ExitFailed, "%s was handed over and is asked for again: somebody removes archives from the store\nnext: the same command again", n.Package)
			}
			given[n.SHA256] = true
			if err := held.hand(n, put); err != nil {
				return nil, err
			}
		}
		// The same request again has the same plan, which was told already.
		tell = func(e Event) {
			if e.Type != EventPlan {
				report(e)
			}
		}
	}
}

func (h Held) hand(n Need, put func(Need, io.Reader, int64) error) error {
	content, size, err := h(n.SHA256)
	if err != nil {
		return err
	}
	if content == nil {
		return Errorf(ExitFailed, "%s (sha256 %s) is neither in the store nor in the bundle\nnext: make the bundle anew, with every environment and platform that is wanted", n.Package, n.SHA256)
	}
	return errors.Join(put(n, content, size), content.Close())
}

// PrepareHeld is Prepare with archives that this process has.
func (c *Client) PrepareHeld(ctx context.Context, req *PrepareRequest, held Held, report func(Event)) (*PrepareResult, error) {
	return PrepareHeld(ctx, req, held, report, func(req *PrepareRequest, report func(Event)) (*PrepareResult, error) {
		body, err := json.Marshal(req)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		return c.prepare(ctx, body, report)
	}, func(n Need, content io.Reader, size int64) error {
		in := &remembering{r: content}
		resp, err := c.do(ctx, http.MethodPut, "/v1/archives/"+n.SHA256, in, size, n.SHA256)
		if in.err != nil {
			return in.err // what is wrong with the archive, not with the daemon
		}
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// remembering keeps the error that reading ended with.
type remembering struct {
	r   io.Reader
	err error
}

func (r *remembering) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

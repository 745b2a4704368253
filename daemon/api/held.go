package api

import (
	"context"
	"io"
	"net/http"
)

// Held opens an archive by sha256; a nil content means that it is not there.
// Reading to the content's end verifies it.
type Held func(sha256 string) (content io.ReadCloser, size int64, err error)

// give hands over what the daemon asks for: what the client holds, or a file that
// the lock names.
func (c *Client) give(ctx context.Context, req *PrepareRequest, n Need) error {
	if !req.Brought {
		return c.handOver(ctx, req, n)
	}
	content, size, err := c.Held.Open(n)
	if err != nil {
		return err
	}
	defer content.Close() // only read
	in := &remembering{r: content}
	resp, err := c.do(ctx, http.MethodPut, "/v1/archives/"+n.SHA256, in, size)
	if in.err != nil {
		return in.err // what is wrong with the archive, not with the daemon
	}
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Open opens what is needed, or says that it is not there.
func (h Held) Open(n Need) (content io.ReadCloser, size int64, err error) {
	content, size, err = h(n.SHA256)
	if content == nil && err == nil {
		err = Errorf(ExitFailed, "%s (sha256 %s) is neither in the store nor in what was brought\nnext: make the bundle anew, with every environment and platform that is wanted", n.Package, n.SHA256)
	}
	return content, size, err
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

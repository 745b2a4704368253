package cache

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
)

// encoded reports whether resp's body is something else than the file's bytes,
// although those were asked for.
func encoded(resp *http.Response) bool {
	e := resp.Header.Get("Content-Encoding")
	return e != "" && e != "identity"
}

// decoded returns the file's bytes of a body. Some servers compress whatever they
// send; others only say so. No archive begins as gzip does, so the bytes tell.
func decoded(r io.Reader, encoding string) (io.Reader, error) {
	switch encoding {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
	default:
		return nil, fmt.Errorf("the server sent the archive encoded as %q, which was not asked for", encoding)
	}
	in := bufio.NewReader(r)
	if head, err := in.Peek(2); err != nil || head[0] != 0x1f || head[1] != 0x8b {
		return in, nil // what went wrong, if anything, the reading will tell
	}
	return gzip.NewReader(in)
}

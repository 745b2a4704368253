package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// worthAnew is how much a try must bring for the count of tries to start anew.
const worthAnew = 1 << 20

// partNote is <sha256>.part.json: what a server said of the file whose
// beginning the part holds.
type partNote struct {
	// URL without credentials.
	URL string `json:"url"`
	// Validator is a strong ETag or a Last-Modified date, for If-Range.
	Validator string `json:"validator"`
}

func (d *download) noteName() string { return d.part + ".json" }

// transfer downloads what lies at the place d.at into the part, resuming what is
// there, and verifies it.
func (d *download) transfer(ctx context.Context) error {
	if err := d.rehash(ctx); err != nil {
		return err
	}
	resumed := d.sum.n > 0
	err := d.whole(ctx)
	if resumed && errors.Is(err, ErrIntegrity) {
		// The part may have been of another file: once more, from the start.
		if err := d.restart(); err != nil {
			return err
		}
		err = d.whole(ctx)
	}
	if errors.Is(err, ErrIntegrity) {
		// A cache on the way may have gone bad: once more, past all of them.
		d.uncached = true
		if err := d.restart(); err != nil {
			return err
		}
		if err = d.whole(ctx); errors.Is(err, ErrIntegrity) {
			err = errors.Join(err, d.restart()) // nothing of it is of use elsewhere
		}
	}
	return err
}

// whole makes the part whole and verifies it.
func (d *download) whole(ctx context.Context) error {
	if err := d.tries(ctx); err != nil {
		return err
	}
	return d.sum.check(d.src)
}

// rehash brings sum to the state that the part on disk has.
func (d *download) rehash(ctx context.Context) error {
	d.sum = newDigester(d.src)
	if _, err := io.Copy(d.sum, &contextReader{ctx: ctx, r: d.file}); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return storeError("read", d.part, err)
	}
	if d.src.Size > 0 && d.sum.n > d.src.Size {
		return d.restart()
	}
	return nil
}

// tries repeats try until the file is whole, or as many tries in a row as are
// allowed brought nothing.
func (d *download) tries(ctx context.Context) error {
	allowed := d.allowed
	total, inRow := 0, 0
	for {
		if d.src.Size > 0 && d.sum.n == d.src.Size {
			return nil // an earlier run got everything but the name
		}
		made, before := 0, d.sum.n
		again, err := d.try(ctx, allowed-inRow, &made)
		total, inRow = total+made, inRow+made
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrStore) || errors.Is(err, ErrIntegrity):
			return err
		}
		if d.sum.n-before >= worthAnew {
			inRow = 0
		}
		if !again || inRow >= allowed {
			return d.failed(total, err)
		}
		if err := d.pause(ctx, inRow); err != nil {
			return err
		}
	}
}

func (d *download) failed(tries int, err error) error {
	times := "1 try"
	if tries != 1 {
		times = fmt.Sprintf("%d tries", tries)
	}
	err = redactError(err)
	var no *refusal
	if errors.As(err, &no) {
		// Of no try, and the policy has named the host.
		return fmt.Errorf("%w: %s: %w", ErrFetch, d.at.Shown, no)
	}
	if text := d.at.Scrub(err.Error()); text != err.Error() {
		err = &scrubbedError{text, err} // a server said it back
	}
	return fmt.Errorf("%w: host %s, %s, %s: %w", ErrFetch, d.at.URL.Host, d.at.Shown, times, err)
}

func (d *download) pause(ctx context.Context, n int) error {
	wait := retryablehttp.DefaultBackoff(d.f.opt.WaitMin, d.f.opt.WaitMax, max(n-1, 0), nil)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}

// try asks for what is missing and takes what comes. again says whether another
// try may help.
func (d *download) try(ctx context.Context, allowed int, made *int) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, d.at.URL.String(), nil)
	if err != nil {
		return false, err
	}
	via := d.f.http
	if d.at.OCI {
		if via, err = d.f.tokens(); err != nil {
			return false, err
		}
	}
	d.askForRest(req.Request)
	if d.uncached {
		req.Header.Set("Cache-Control", "no-cache")
		req.Header.Set("Pragma", "no-cache")
	}
	d.at.Authorize(req.Request)
	// Not under a signature: those on the way may change it.
	req.Header.Set("User-Agent", d.f.opt.UserAgent)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := d.f.client(via, allowed, made).Do(req)
	if err != nil {
		// The client has retried as long as that made sense.
		return false, err
	}
	defer resp.Body.Close() // only read
	whole, again, err := d.answer(resp)
	if err != nil {
		return again, err
	}
	body := &stallReader{r: resp.Body, timeout: d.f.opt.StallTimeout, cancel: cancel}
	body.timer = time.AfterFunc(body.timeout, body.stalled)
	defer body.timer.Stop()
	plain, err := decoded(body, resp.Header.Get("Content-Encoding"))
	if err == nil {
		_, err = d.take(plain)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return true, err
	}
	if whole > 0 && d.sum.n < whole {
		return true, fmt.Errorf("the connection ended after %d of %d bytes", d.sum.n, whole)
	}
	return false, nil
}

// askForRest makes req ask for what the part lacks.
func (d *download) askForRest(req *http.Request) {
	if d.sum.n == 0 {
		return
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.sum.n))
	// Without a validator the range is asked for all the same: the digest over
	// the whole decides.
	if note, err := d.readNote(); err == nil && note.URL == d.at.Shown && note.Validator != "" {
		req.Header.Set("If-Range", note.Validator)
	}
}

// answer looks at a response's header and prepares the part for its body. whole
// is the size of the complete file, 0 if the server does not say.
func (d *download) answer(resp *http.Response) (whole int64, again bool, err error) {
	switch resp.StatusCode {
	case http.StatusOK:
		if err := d.restart(); err != nil {
			return 0, false, err
		}
		whole = max(resp.ContentLength, 0)
		if encoded(resp) {
			whole = 0 // of the encoded bytes
		}
	case http.StatusPartialContent:
		start, total, ok := parseContentRange(resp.Header.Get("Content-Range"))
		if !ok || start != d.sum.n || encoded(resp) {
			if err := d.restart(); err != nil {
				return 0, false, err
			}
			return 0, true, fmt.Errorf("the server sent the range %q instead of the one asked for", resp.Header.Get("Content-Range"))
		}
		whole = total
	case http.StatusRequestedRangeNotSatisfiable:
		if err := d.restart(); err != nil {
			return 0, false, err
		}
		return 0, true, errors.New("the server refused to resume")
	default:
		// Its own words stay out: they may be what it was sent.
		return 0, false, &StatusError{Code: resp.StatusCode, Status: fmt.Sprint(resp.StatusCode, " ", http.StatusText(resp.StatusCode))}
	}
	if d.src.Size > 0 && whole > 0 && whole != d.src.Size {
		return 0, false, d.wrongSize(whole)
	}
	if resp.StatusCode == http.StatusOK {
		return whole, true, d.writeNote(resp)
	}
	return whole, true, nil
}

// StatusError is a server's refusal to deliver; no try more would help.
type StatusError struct {
	Code int
	// Status in words, e.g. "404 Not Found".
	Status string
}

func (e *StatusError) Error() string {
	text := "the server answered " + e.Status
	switch {
	case e.Unauthorized():
		text += ": credentials are missing or not sufficient"
	case e.Gone():
		text += ": the package was removed or the channel moved"
	}
	return text
}

// Unauthorized: the server wants to know who asks.
func (e *StatusError) Unauthorized() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden || e.Code == http.StatusProxyAuthRequired
}

// Gone: the server has nothing at this URL.
func (e *StatusError) Gone() bool { return e.Code == http.StatusNotFound || e.Code == http.StatusGone }

// parseContentRange reads "bytes <start>-<end>/<total>"; total is 0 for "*".
func parseContentRange(h string) (start, total int64, ok bool) {
	rest, ok := strings.CutPrefix(h, "bytes ")
	if !ok {
		return 0, 0, false
	}
	span, size, ok := strings.Cut(rest, "/")
	first, last, ok2 := strings.Cut(span, "-")
	if !ok || !ok2 {
		return 0, 0, false
	}
	start, err := parseNumber(first)
	if err != nil {
		return 0, 0, false
	}
	end, err := parseNumber(last)
	if err != nil || end < start {
		return 0, 0, false
	}
	if size == "*" {
		return start, 0, true
	}
	// The range must be the whole rest; a shorter one would be asked for again.
	total, err = parseNumber(size)
	return start, total, err == nil && end < total
}

func (d *download) readNote() (partNote, error) {
	var n partNote
	data, err := os.ReadFile(d.noteName())
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	return n, err
}

// writeNote keeps the validator of a response that starts the file. A weak
// ETag is no promise about bytes.
func (d *download) writeNote(resp *http.Response) error {
	note := partNote{URL: d.at.Shown, Validator: resp.Header.Get("ETag")}
	if note.Validator == "" || strings.HasPrefix(note.Validator, "W/") {
		note.Validator = resp.Header.Get("Last-Modified")
	}
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return storeError("write", d.noteName(), os.WriteFile(d.noteName(), data, 0o644))
}

// notStalled is how many bytes a transfer must bring for the time until it is
// stalled to start anew.
const notStalled = 64 << 10

// stallReader ends a transfer of which nothing, or as good as nothing, comes any
// more.
type stallReader struct {
	come    int // since timer was set
	r       io.Reader
	timeout time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

func (r *stallReader) stalled() {
	r.cancel(fmt.Errorf("less than %d KiB came in %s", notStalled>>10, r.timeout))
}

func (r *stallReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.come += n; r.come >= notStalled {
		r.come = 0
		r.timer.Reset(r.timeout)
	}
	return n, err
}

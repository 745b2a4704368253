package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

// transfer downloads u into the part, resuming what is there, and verifies it.
func (d *download) transfer(ctx context.Context, u *url.URL) error {
	if err := d.rehash(ctx); err != nil {
		return err
	}
	resumed := d.sum.n > 0
	err := d.tries(ctx, u)
	if err == nil {
		err = d.sum.check(d.src)
	}
	if resumed && errors.Is(err, ErrIntegrity) {
		// The part may have been of another file: once more, from the start.
		if err := d.restart(); err != nil {
			return err
		}
		if err = d.tries(ctx, u); err == nil {
			err = d.sum.check(d.src)
		}
	}
	return err
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
func (d *download) tries(ctx context.Context, u *url.URL) error {
	allowed := d.f.opt.Retries + 1
	total, inRow := 0, 0
	for {
		if d.src.Size > 0 && d.sum.n == d.src.Size {
			return nil // an earlier run got everything but the name
		}
		made, before := 0, d.sum.n
		again, err := d.try(ctx, u, allowed-inRow, &made)
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
			return d.failed(u, total, err)
		}
		if err := d.pause(ctx, inRow); err != nil {
			return err
		}
	}
}

func (d *download) failed(u *url.URL, tries int, err error) error {
	times := "1 try"
	if tries != 1 {
		times = fmt.Sprintf("%d tries", tries)
	}
	err = redactError(err)
	var no *refusal
	if errors.As(err, &no) {
		// Of no try, and the policy has named the host.
		return fmt.Errorf("%w: %s: %w", ErrFetch, RedactURL(d.src.URL), no)
	}
	return fmt.Errorf("%w: host %s, %s, %s: %w", ErrFetch, u.Host, RedactURL(d.src.URL), times, err)
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
func (d *download) try(ctx context.Context, u *url.URL, allowed int, made *int) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("User-Agent", d.f.opt.UserAgent)
	d.askForRest(req.Request)
	resp, err := d.f.client(allowed, made).Do(req)
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
	if _, err := d.take(body); err != nil {
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
	if note, err := d.readNote(); err == nil && note.URL == RedactURL(d.src.URL) && note.Validator != "" {
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
	case http.StatusPartialContent:
		start, total, ok := parseContentRange(resp.Header.Get("Content-Range"))
		if !ok || start != d.sum.n {
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
		return 0, false, &StatusError{Code: resp.StatusCode, Status: resp.Status}
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
	// Status as the server gave it, e.g. "404 Not Found".
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
	note := partNote{URL: RedactURL(d.src.URL), Validator: resp.Header.Get("ETag")}
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

package cache

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache/mirror"
	"github.com/hpcenv/hpcenv/cache/remote"
)

// adversary is a server that has one archive and does wrong with the first bad
// requests, or with all if bad is negative.
type adversary struct {
	data []byte
	bad  int
	// how it does wrong.
	how func(a *adversary, w http.ResponseWriter, r *http.Request)

	mu   sync.Mutex
	seen []*http.Request
}

func (a *adversary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.seen = append(a.seen, r.Clone(context.Background()))
	wrong := a.bad < 0 || len(a.seen) <= a.bad
	a.mu.Unlock()
	if wrong {
		a.how(a, w, r)
		return
	}
	a.honest(w, r)
}

func (a *adversary) honest(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"right"`)
	http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(a.data))
}

func (a *adversary) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.seen)
}

func (a *adversary) last() *http.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[len(a.seen)-1]
}

func status(code int, header ...string) func(*adversary, http.ResponseWriter, *http.Request) {
	return func(_ *adversary, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func drop(a *adversary, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", strconv.Itoa(len(a.data)))
	w.Header().Set("ETag", `"right"`)
	if _, err := w.Write(a.data[:len(a.data)/3]); err == nil {
		w.(http.Flusher).Flush()
	}
	panic(http.ErrAbortHandler)
}

func wrongContent(a *adversary, w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(append([]byte("X"), a.data[1:]...)))
}

func gzipped(a *adversary, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	if _, err := z.Write(a.data); err == nil {
		z.Close() // a client that left is its own affair
	}
}

// misdeeds are what servers do. recovers: the same server, asked again, delivers.
var misdeeds = []struct {
	name     string
	how      func(*adversary, http.ResponseWriter, *http.Request)
	recovers bool
	class    error
}{
	{"drops mid-body", drop, true, ErrFetch},
	{"stalls", func(a *adversary, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.data)))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, true, ErrFetch},
	{"never answers", func(_ *adversary, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, true, ErrFetch},
	{"says it is longer", func(a *adversary, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.data)+7))
		if _, err := w.Write(a.data); err != nil {
			return
		}
		panic(http.ErrAbortHandler)
	}, true, ErrIntegrity},
	{"says it is shorter", func(a *adversary, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.data)-7))
		if _, err := w.Write(a.data[:len(a.data)-7]); err != nil {
			return
		}
	}, true, ErrIntegrity},
	{"401", status(401, "WWW-Authenticate", `Basic realm="x"`), false, ErrFetch},
	{"403", status(403), false, ErrFetch},
	{"404", status(404), false, ErrFetch},
	{"429 in seconds", status(429, "Retry-After", "0"), true, ErrFetch},
	{"429 at a date", status(429, "Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)), true, ErrFetch},
	{"503", status(503, "Retry-After", "0"), true, ErrFetch},
	{"wrong content", wrongContent, true, ErrIntegrity},
	{"encoded as nobody asked", func(a *adversary, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		if _, err := w.Write(a.data); err != nil {
			return
		}
	}, true, ErrFetch},
	{"redirects in a circle", func(_ *adversary, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	}, false, ErrFetch},
	{"redirects to no URL", status(302, "Location", "http://[::1"), true, ErrFetch},
	{"redirects to another scheme", status(302, "Location", "gopher://conda.example/x"), false, ErrFetch},
	{"redirects nowhere", status(302), false, ErrFetch},
	{"garbage", func(_ *adversary, w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		if _, err := c.Write([]byte("HTTP/1.1 banana\r\n\r\n")); err == nil {
			c.Close() // the client has what it needs to complain
		}
	}, true, ErrFetch},
}

func impatient(opt FetchOptions) *Fetcher {
	opt.StallTimeout, opt.ResponseTimeout = 60*time.Millisecond, 60*time.Millisecond
	return quick(opt)
}

// Whatever a server does wrong once, the archive comes as it should if the server
// can do right; if it goes on so, the error is of its class and nothing is kept
// under the archive's name.
func TestWhateverServersDo(t *testing.T) {
	data := noise(5000)
	for _, m := range misdeeds {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.recovers {
				a, s := &adversary{data: data, bad: 1, how: m.how}, newStore(t)
				path, _, err := s.Fetch(context.Background(), impatient(FetchOptions{}), sourceOf(data, FormatConda, serve(t, a).URL+"/a"), nil)
				if err != nil {
					t.Fatalf("once: %v", err)
				}
				mustHold(t, path, data)
				if a.requests() < 2 {
					t.Errorf("%d requests", a.requests())
				}
			}
			a, s := &adversary{data: data, bad: -1, how: m.how}, newStore(t)
			src := sourceOf(data, FormatConda, serve(t, a).URL+"/a")
			_, _, err := s.Fetch(context.Background(), impatient(FetchOptions{Retries: 1}), src, nil)
			if !errors.Is(err, m.class) {
				t.Errorf("always: %v, want one of class %v", err, m.class)
			}
			if ok, err := s.hasArchive(src); ok || err != nil {
				t.Errorf("it is in the store: %v, %v", ok, err)
			}
		})
	}
}

// Whatever a mirror does wrong, the next one is asked, and the next archive is
// asked of that one first, if the fault was the mirror's own.
func TestTheNextMirrorIsAsked(t *testing.T) {
	data := noise(5000)
	for _, m := range misdeeds {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			bad, good := &adversary{data: data, bad: -1, how: m.how}, &adversary{data: data}
			list, err := mirror.New([]mirror.Rule{{Prefix: "https://conda.example/ch", URLs: []string{serve(t, bad).URL + "/m", serve(t, good).URL + "/deep/m/"}}})
			if err != nil {
				t.Fatal(err)
			}
			f := impatient(FetchOptions{Retries: 1, Access: func() (*remote.Access, error) { return &remote.Access{Mirrors: list}, nil }})
			src := sourceOf(data, FormatConda, "https://conda.example/ch/linux-64/a-1-0.conda")
			for round := range 2 {
				s := newStore(t)
				before := bad.requests()
				path, _, err := s.Fetch(context.Background(), f, src, nil)
				if err != nil {
					t.Fatal(err)
				}
				mustHold(t, path, data)
				if got := good.last().URL.Path; got != "/deep/m/linux-64/a-1-0.conda" {
					t.Errorf("asked for %s", got)
				}
				lacks := m.name == "401" || m.name == "403" || m.name == "404"
				if asked := bad.requests() > before; asked != (round == 0 || lacks) {
					t.Errorf("round %d: the bad mirror was asked: %v", round, asked)
				}
			}
		})
	}
}

// A cache on the way that has gone bad is gone past once.
func TestPastABadCache(t *testing.T) {
	data := noise(5000)
	a := &adversary{data: data, bad: -1}
	a.how = func(a *adversary, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cache-Control") == "no-cache" && r.Header.Get("Pragma") == "no-cache" {
			a.honest(w, r)
			return
		}
		wrongContent(a, w, r)
	}
	s := newStore(t)
	path, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, serve(t, a).URL), nil)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, path, data)
	if a.requests() != 2 {
		t.Errorf("%d requests, want 2", a.requests())
	}

	always := &adversary{data: data, bad: -1, how: wrongContent}
	src := sourceOf(data, FormatConda, serve(t, always).URL)
	_, _, err = newStore(t).Fetch(context.Background(), quick(FetchOptions{}), src, nil)
	have := digestOf(append([]byte("X"), data[1:]...))
	if !errors.Is(err, ErrIntegrity) || !strings.Contains(err.Error(), src.SHA256) || !strings.Contains(err.Error(), have) {
		t.Errorf("want both hashes, got %v", err)
	}
	if always.requests() != 2 {
		t.Errorf("%d requests, want 2", always.requests())
	}
}

// A body that was compressed on the way is the archive all the same, and is never
// resumed in the middle.
func TestCompressedBodies(t *testing.T) {
	data := bytes.Repeat([]byte("a body that compresses "), 5000)
	t.Run("whole", func(t *testing.T) {
		s := newStore(t)
		a := &adversary{data: data, bad: -1, how: gzipped}
		path, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, serve(t, a).URL), nil)
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, path, data)
		if got := a.last().Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("asked for %q", got)
		}
	})
	t.Run("only said so", func(t *testing.T) {
		s := newStore(t)
		a := &adversary{data: data, bad: -1, how: func(a *adversary, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			if _, err := w.Write(a.data); err != nil {
				return
			}
		}}
		path, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, serve(t, a).URL), nil)
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, path, data)
	})
	t.Run("a range of it", func(t *testing.T) {
		s := newStore(t)
		a := &adversary{data: data, bad: 2}
		a.how = func(a *adversary, w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") == "" {
				drop(a, w, r)
			}
			w.Header().Set("Content-Encoding", "gzip")
			a.honest(w, r)
		}
		path, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, serve(t, a).URL), nil)
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, path, data)
	})
}

// What another file's beginning would spoil is not resumed: If-Range says which
// file is meant.
func TestIfRangeMismatch(t *testing.T) {
	old, data := noise(6000)[1000:], noise(5000)
	a := &adversary{data: data, bad: 1}
	a.how = func(_ *adversary, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"old"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(old)))
		if _, err := w.Write(old[:2000]); err == nil {
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
	s := newStore(t)
	path, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, serve(t, a).URL), nil)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, path, data)
	if got := a.last().Header.Get("If-Range"); got != `"old"` || a.requests() != 2 {
		t.Errorf("If-Range %q in %d requests", got, a.requests())
	}
}

// A server that knows no ranges is asked for the whole again.
func TestRangesIgnored(t *testing.T) {
	data := noise(5000)
	a := &adversary{data: data, bad: -1}
	a.how = func(a *adversary, w http.ResponseWriter, r *http.Request) {
		if a.requests() == 1 {
			drop(a, w, r)
		}
		r.Header.Del("Range")
		a.honest(w, r)
	}
	s := newStore(t)
	path, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, serve(t, a).URL), nil)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, path, data)
	if a.requests() != 2 {
		t.Errorf("%d requests", a.requests())
	}
}

// A server's Retry-After is followed.
func TestRetryAfterIsFollowed(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func() string{
		"seconds": func() string { return "1" },
		"date":    func() string { return time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first, second time.Time
			a := &adversary{data: noise(100), bad: 1}
			a.how = func(_ *adversary, w http.ResponseWriter, _ *http.Request) {
				first = time.Now()
				w.Header().Set("Retry-After", after())
				w.WriteHeader(http.StatusTooManyRequests)
			}
			_, _, err := newStore(t).Fetch(context.Background(), quick(FetchOptions{}), sourceOf(a.data, FormatConda, serve(t, a).URL), nil)
			second = time.Now()
			if err != nil {
				t.Fatal(err)
			}
			// Without it the next try comes after milliseconds.
			if second.Sub(first) < 900*time.Millisecond {
				t.Errorf("asked again after %s", second.Sub(first))
			}
		})
	}
}

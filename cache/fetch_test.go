package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// noise returns n bytes that do not compress, the same in every run.
func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	r.Read(b)
	return b
}

func quick(opt FetchOptions) *Fetcher {
	if opt.AllowHost == nil {
		opt.AllowHost = AllowAny
	}
	opt.WaitMin, opt.WaitMax = time.Millisecond, 5*time.Millisecond
	return NewFetcher(opt)
}

// flaky serves data, and breaks the connection of the first drops requests
// after half of what was asked for. It records the Range headers.
type flaky struct {
	data  []byte
	etag  string
	drops int32
	mu    sync.Mutex
	asked []string
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.Header.Get("Range")+"|"+r.Header.Get("If-Range"))
	f.mu.Unlock()
	if f.etag != "" {
		w.Header().Set("ETag", f.etag)
	}
	if atomic.AddInt32(&f.drops, -1) < 0 {
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(f.data))
		return
	}
	from := 0
	if rg := r.Header.Get("Range"); rg != "" {
		if _, err := fmt.Sscanf(rg, "bytes=%d-", &from); err != nil {
			panic(err)
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(f.data)-1, len(f.data)))
		w.Header().Set("Content-Length", fmt.Sprint(len(f.data)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		w.Header().Set("Content-Length", fmt.Sprint(len(f.data)))
	}
	if _, err := w.Write(f.data[from : from+(len(f.data)-from)/2]); err != nil {
		panic(err)
	}
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func serve(t testing.TB, h http.Handler) *httptest.Server {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func mustHold(t testing.TB, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s holds other bytes than were served", path)
	}
}

func TestFetchResumesWhereTheConnectionBroke(t *testing.T) {
	s, data := newStore(t), noise(1000)
	h := &flaky{data: data, etag: `"v1"`, drops: 2}
	srv := serve(t, h)
	var last int64
	path, fetched, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, srv.URL+"/a"), func(done, total int64) {
		last = done
		if total != 1000 {
			t.Errorf("total is %d", total)
		}
	})
	if err != nil || !fetched {
		t.Fatalf("fetched=%v, %v", fetched, err)
	}
	mustHold(t, path, data)
	if d := cmp.Diff([]string{"|", `bytes=500-|"v1"`, `bytes=750-|"v1"`}, h.asked); d != "" {
		t.Error(d)
	}
	if last != 1000 {
		t.Errorf("progress ended at %d", last)
	}
	emptyDir(t, s, "archives", filepath.Base(path))
	// The second call finds it.
	if _, fetched, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, srv.URL+"/a"), nil); err != nil || fetched {
		t.Errorf("second fetch: fetched=%v, %v", fetched, err)
	}
}

func TestFetchOfALaterRunResumes(t *testing.T) {
	for _, c := range []struct {
		name string
		// between the two runs
		change func(h *flaky, part string, t *testing.T)
		etag   string
		want   []string
	}{
		{"same file", func(*flaky, string, *testing.T) {}, `"v1"`, []string{"|", `bytes=500-|"v1"`}},
		{"no validator", func(*flaky, string, *testing.T) {}, ``, []string{"|", `bytes=500-|`}},
		{"server replaced the file", func(h *flaky, _ string, _ *testing.T) { h.etag = `"v2"` }, `"v1"`, []string{"|", `bytes=500-|"v1"`}},
		{"part was damaged", func(_ *flaky, part string, t *testing.T) {
			if err := os.WriteFile(part, make([]byte, 500), 0o644); err != nil {
				t.Fatal(err)
			}
		}, `"v1"`, []string{"|", `bytes=500-|"v1"`, "|"}},
		{"part is too long", func(_ *flaky, part string, t *testing.T) {
			if err := os.WriteFile(part, make([]byte, 5000), 0o644); err != nil {
				t.Fatal(err)
			}
		}, `"v1"`, []string{"|", "|"}},
		{"part is all there", func(h *flaky, part string, t *testing.T) {
			if err := os.WriteFile(part, h.data, 0o644); err != nil {
				t.Fatal(err)
			}
		}, `"v1"`, []string{"|"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, data := newStore(t), noise(1000)
			h := &flaky{data: data, etag: c.etag, drops: 1}
			srv := serve(t, h)
			src := sourceOf(data, FormatConda, srv.URL+"/a")
			f := quick(FetchOptions{Retries: -1})
			if _, _, err := s.Fetch(context.Background(), f, src, nil); !errors.Is(err, ErrFetch) {
				t.Fatalf("first run: %v", err)
			}
			c.change(h, filepath.Join(s.root, "archives", src.SHA256+".part"), t)
			path, _, err := s.Fetch(context.Background(), f, src, nil)
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, path, data)
			if d := cmp.Diff(c.want, h.asked); d != "" {
				t.Error(d)
			}
			emptyDir(t, s, "archives", filepath.Base(path))
		})
	}
}

func TestFetchRefusesOtherBytes(t *testing.T) {
	data := noise(1000)
	for _, c := range []struct {
		name   string
		serve  []byte
		src    func(*Source)
		inText []string
	}{
		{"other content", append([]byte{data[0] + 1}, data[1:]...), func(*Source) {}, []string{"sha256", digestOf(data), digestOf(append([]byte{data[0] + 1}, data[1:]...))}},
		{"shorter", data[:999], func(*Source) {}, []string{"999", "1000"}},
		{"longer", append(data[:1000:1000], 0), func(*Source) {}, []string{"1001", "1000"}},
		{"longer, size not known", append(data[:1000:1000], 0), func(s *Source) { s.Size = 0 }, []string{"sha256"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			srv := serve(t, &flaky{data: c.serve})
			src := sourceOf(data, FormatConda, strings.Replace(srv.URL, "//", "//user:secret@", 1)+"/t/tk-123/a?sig=xyz")
			c.src(&src)
			_, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), src, nil)
			if !errors.Is(err, ErrIntegrity) {
				t.Fatalf("got %v, want an integrity error", err)
			}
			for _, want := range append(c.inText, "demo-1-0", "/t/***/a") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			for _, secret := range []string{"secret", "tk-123", "xyz"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the secret %q is in: %v", secret, err)
				}
			}
			emptyDir(t, s, "archives")
		})
	}
}

func TestFetchTriesAsOftenAsItSays(t *testing.T) {
	for _, c := range []struct {
		name    string
		retries int
		status  int
		want    int32
	}{
		{"default", 0, 503, 4},
		{"one more", 1, 500, 2},
		{"none", -1, 503, 1},
		{"not found is final", 0, 404, 1},
		{"no permission is final", 0, 403, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			var n atomic.Int32
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { n.Add(1); w.WriteHeader(c.status) }))
			_, _, err := s.Fetch(context.Background(), quick(FetchOptions{Retries: c.retries}), sourceOf(noise(10), FormatConda, srv.URL+"/a"), nil)
			if !errors.Is(err, ErrFetch) {
				t.Fatalf("got %v", err)
			}
			times := fmt.Sprintf("%d tries", c.want)
			if c.want == 1 {
				times = "1 try"
			}
			host := strings.TrimPrefix(srv.URL, "http://")
			for _, want := range []string{times, "host " + host, srv.URL + "/a", fmt.Sprint(c.status)} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			if n.Load() != c.want {
				t.Errorf("the server saw %d requests, want %d", n.Load(), c.want)
			}
			emptyDir(t, s, "archives")
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		s := newStore(t)
		srv := httptest.NewServer(http.NotFoundHandler())
		srv.Close()
		_, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(noise(10), FormatConda, srv.URL+"/a"), nil)
		if !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "4 tries") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("each try breaks", func(t *testing.T) {
		s, h := newStore(t), &flaky{data: noise(1000), drops: 100}
		_, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(h.data, FormatConda, serve(t, h).URL), nil)
		if !errors.Is(err, ErrFetch) || len(h.asked) != 4 {
			t.Errorf("%d requests, %v", len(h.asked), err)
		}
	})
}

// TestFetchDoubtsTheServersRange: an answer to a resumption that is not what was
// asked for is not appended.
func TestFetchDoubtsTheServersRange(t *testing.T) {
	data := noise(1000)
	for _, c := range []struct {
		name, contentRange string
		status             int
	}{
		{"other start", "bytes 400-999/1000", 206},
		{"no range", "", 206},
		{"junk", "bytes x-999/1000", 206},
		{"end before start", "bytes 500-400/1000", 206},
		{"end beyond the total", "bytes 500-1000/1000", 206},
		{"not satisfiable", "bytes */1000", 416},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") == "" {
					http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
					return
				}
				w.Header().Set("Content-Range", c.contentRange)
				w.WriteHeader(c.status)
			}))
			src := sourceOf(data, FormatConda, srv.URL)
			if err := os.WriteFile(filepath.Join(s.root, "archives", src.SHA256+".part"), data[:500], 0o644); err != nil {
				t.Fatal(err)
			}
			path, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), src, nil)
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, path, data)
		})
	}
}

func TestFetchLeavesAStalledTransfer(t *testing.T) {
	s, data := newStore(t), noise(1000)
	var n atomic.Int32
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > 1 {
			http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
			return
		}
		w.Header().Set("Content-Length", "1000")
		if _, err := w.Write(data[:300]); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	path, _, err := s.Fetch(context.Background(), quick(FetchOptions{StallTimeout: 50 * time.Millisecond}), sourceOf(data, FormatConda, srv.URL), nil)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, path, data)
}

func TestFetchEndsWithItsContext(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	srv := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }))
	if _, _, err := s.Fetch(ctx, quick(FetchOptions{}), sourceOf(noise(10), FormatConda, srv.URL), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFileURLs(t *testing.T) {
	s, data := newStore(t), noise(100)
	src := sourceOf(data, FormatConda, "file://"+writeFile(t, data))
	if _, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), src, nil); !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("without permission: %v", err)
	}
	f := quick(FetchOptions{AllowFile: true})
	path, _, err := s.Fetch(context.Background(), f, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, path, data)
	src = sourceOf(noise(99), FormatConda, "file:///no/such/file")
	if _, _, err := s.Fetch(context.Background(), f, src, nil); !errors.Is(err, ErrFetch) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	emptyDir(t, s, "archives", filepath.Base(path))
}

func TestImportArchive(t *testing.T) {
	s, data := newStore(t), noise(1000)
	src := sourceOf(data, FormatConda, "https://conda.example/a")
	for name, bad := range map[string][]byte{"short": data[:999], "long": append(data[:1000:1000], 1), "other": make([]byte, 1000)} {
		if err := s.ImportArchive(context.Background(), bytes.NewReader(bad), src); !errors.Is(err, ErrIntegrity) {
			t.Errorf("%s: %v", name, err)
		}
	}
	emptyDir(t, s, "archives")
	if err := s.ImportArchive(context.Background(), bytes.NewReader(data), src); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.ArchivePath(src), data)
	emptyDir(t, s, "tmp", "locks")
	// A fetch finds it without asking anybody.
	if _, fetched, err := s.Fetch(context.Background(), quick(FetchOptions{}), src, nil); err != nil || fetched {
		t.Errorf("fetched=%v, %v", fetched, err)
	}
}

func TestRedactURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://u:p@conda.example/a/b.conda?x=1#f": "https://conda.example/a/b.conda",
		"https://conda.example/t/tk-1/ch/b.conda":   "https://conda.example/t/***/ch/b.conda",
		"https://conda.example/t/tk-1":              "https://conda.example/t/***/",
		"https://conda.example/x%20y.conda":         "https://conda.example/x%20y.conda",
		"http://[::1":                               "(a URL that cannot be parsed)",
	} {
		if got := RedactURL(raw); got != want {
			t.Errorf("RedactURL(%q) = %q, want %q", raw, got, want)
		}
	}
}

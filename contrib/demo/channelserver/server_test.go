package channelserver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/contrib/demo/channelserver"
)

var content = bytes.Repeat([]byte("0123456789"), 10000)

func start(t *testing.T) (*channelserver.Server, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "numpy-1.conda"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := channelserver.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(func() {
		srv.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, srv.URL
}

// get returns status, body, and the error of reading it.
func get(t *testing.T, ctx context.Context, url, ranges string) (int, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ranges != "" {
		req.Header.Set("Range", ranges)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

func TestServes(t *testing.T) {
	s, url := start(t)
	code, body, err := get(t, t.Context(), url+"/numpy-1.conda", "")
	if code != 200 || err != nil || !bytes.Equal(body, content) {
		t.Errorf("whole file: %d, %d bytes, %v", code, len(body), err)
	}
	code, body, err = get(t, t.Context(), url+"/numpy-1.conda", "bytes=99990-")
	if code != 206 || err != nil || string(body) != "0123456789" {
		t.Errorf("range: %d, %q, %v", code, body, err)
	}
	for _, p := range []string{"/none", "/", "/../secret", "/%2e%2e/secret"} {
		if code, _, err := get(t, t.Context(), url+p, ""); code != 404 || err != nil {
			t.Errorf("%s: %d, %v, want 404", p, code, err)
		}
	}
	l := s.Log()
	if l.ByPath["/numpy-1.conda"] != 2 || l.Requests[1].Range == "" || l.Requests[1].Status != 206 || l.Requests[0].Bytes != int64(len(content)) {
		t.Errorf("log: %+v", l)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault      string
		code, size int
		broken     bool
	}{
		{"drop:match=numpy*:after=1000", 200, 1000, true},
		{"status:match=numpy-?.conda:status=503:times=1", 503, len("Service Unavailable\n"), false},
		{"truncate:after=77", 200, 77, false},
		{"wrong", 200, len(content), false},
		{"status:match=other*:status=404", 200, len(content), false},
		{"slow:rate=1000000", 200, len(content), false},
	} {
		t.Run(c.fault, func(t *testing.T) {
			s, url := start(t)
			f, err := channelserver.ParseFault(c.fault)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.SetFaults(f); err != nil {
				t.Fatal(err)
			}
			code, body, err := get(t, t.Context(), url+"/numpy-1.conda", "")
			if code != c.code || len(body) != c.size || (err != nil) != c.broken {
				t.Errorf("got %d, %d bytes, %v; want %d, %d, broken %v", code, len(body), err, c.code, c.size, c.broken)
			}
			if (f.Kind == "wrong") == bytes.Equal(body, content) && len(body) == len(content) {
				t.Error("the bytes are not what the fault makes of them")
			}
			if f.Times == 1 {
				if code, _, err := get(t, t.Context(), url+"/numpy-1.conda", ""); code != 200 || err != nil {
					t.Errorf("after the fault was used up: %d, %v", code, err)
				}
			}
		})
	}
}

func TestNoRangeAndHang(t *testing.T) {
	s, url := start(t)
	if err := s.SetFaults(channelserver.Fault{Kind: "norange"}); err != nil {
		t.Fatal(err)
	}
	if code, body, err := get(t, t.Context(), url+"/numpy-1.conda", "bytes=5-"); code != 200 || len(body) != len(content) || err != nil {
		t.Errorf("norange: %d, %d bytes, %v", code, len(body), err)
	}
	if err := s.SetFaults(channelserver.Fault{Kind: "hang"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := get(t, ctx, url+"/numpy-1.conda", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hang: %v, want the deadline", err)
	}
}

func TestControl(t *testing.T) {
	s, url := start(t)
	do := func(method, path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	if code := do("PUT", "/-/faults", `[{"kind":"status","status":500,"times":3}]`); code != 204 {
		t.Errorf("faults: %d", code)
	}
	if code := do("GET", "/numpy-1.conda", ""); code != 500 {
		t.Errorf("with a fault: %d", code)
	}
	for _, bad := range []string{"{", `[{"kind":"explode"}]`, `[{"kind":"slow"}]`, `[{"kind":"status","status":7}]`, `[{"kind":"drop","match":"["}]`, `[{"kind":"truncate"}]`} {
		if code := do("PUT", "/-/faults", bad); code != 400 {
			t.Errorf("%s: %d, want 400", bad, code)
		}
	}
	if code := do("POST", "/-/reset", ""); code != 204 || s.Log().Total != 0 {
		t.Errorf("reset: %d, %d requests", code, s.Log().Total)
	}
	if code := do("GET", "/numpy-1.conda", ""); code != 200 {
		t.Errorf("after reset: %d", code)
	}
	// The client has its answer a moment before the request is in the log.
	for end := time.Now().Add(5 * time.Second); s.Log().Total == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if code := do("GET", "/-/requests", ""); code != 200 || s.Log().Total != 1 {
		t.Errorf("requests: %d, %d", code, s.Log().Total)
	}
}

func TestParseFaultRefuses(t *testing.T) {
	for _, bad := range []string{"", "drop:after", "drop:after=x", "drop:colour=1"} {
		if f, err := channelserver.ParseFault(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, f)
		}
	}
}

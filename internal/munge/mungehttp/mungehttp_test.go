package mungehttp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/munge/mungehttp"
	"github.com/hpcenv/hpcenv/internal/munge/mungetest"
)

// daemon is a Gate with a server around it.
type daemon struct {
	*httptest.Server
	mu   sync.Mutex
	gate *mungehttp.Gate
	name string // its instance
	m    munge.Munge
	// bodies that came whole, and how often something was done.
	bodies [][]byte
	done   atomic.Int32
	// answer writes the answer; nil = the body again.
	answer func(w http.ResponseWriter, body []byte)
	// spy sees every request before the gate.
	spy atomic.Pointer[func(*http.Request)]
}

func start(t *testing.T, m munge.Munge) *daemon {
	t.Helper()
	d := &daemon{m: m}
	d.restart()
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.Server.Close)
	return d
}

// restart is what a start of the daemon anew changes.
func (d *daemon) restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.name = mungehttp.NewInstance()
	d.gate = mungehttp.NewGate(d.m, d.name)
}

func (d *daemon) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	gate, name := d.gate, d.name
	d.mu.Unlock()
	if r.URL.Path == mungehttp.InstancePath {
		fmt.Fprintf(w, `{"instance":%q}`, name)
		return
	}
	if spy := d.spy.Load(); spy != nil {
		(*spy)(r)
	}
	sender, out, in, err := gate.Enter(w, r)
	if err != nil {
		status := http.StatusForbidden
		if errors.Is(err, mungehttp.ErrInstance) {
			status = http.StatusConflict
		}
		if err := gate.Refuse(w, r, status, []byte(err.Error())); err != nil {
			panic(err)
		}
		return
	}
	body, err := io.ReadAll(in.Body)
	switch {
	case err != nil:
		out.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(out, err)
	case sender.UID != os.Getuid():
		out.WriteHeader(http.StatusForbidden)
	default:
		d.done.Add(1)
		d.mu.Lock()
		d.bodies = append(d.bodies, body)
		d.mu.Unlock()
		if d.answer != nil {
			d.answer(out, body)
		} else if _, err := out.Write(body); err != nil {
			panic(err)
		}
	}
	if err := out.Close(); err != nil {
		panic(err)
	}
}

func (d *daemon) client() *http.Client {
	return &http.Client{Transport: &mungehttp.Transport{Munge: d.m, Owner: os.Getuid()}}
}

// ask posts a body and returns status and answer.
func ask(t *testing.T, c *http.Client, url string, body io.Reader) (int, string, error) {
	t.Helper()
	resp, err := c.Post(url, "application/json", body)
	if err != nil {
		return 0, "", err
	}
	data, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return resp.StatusCode, string(data), err
	}
	return resp.StatusCode, string(data), nil
}

func TestAnswersAreWhole(t *testing.T) {
	d := start(t, mungetest.Start(t))
	large := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // several frames
	for _, body := range [][]byte{nil, []byte("x"), large} {
		status, got, err := ask(t, d.client(), d.URL+"/v1/x?q=1", bytes.NewReader(body))
		if err != nil || status != http.StatusOK || got != string(body) {
			t.Errorf("%d bytes: %d, %d bytes, %v", len(body), status, len(got), err)
		}
	}
	d.answer = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusNoContent) }
	if status, got, err := ask(t, d.client(), d.URL+"/v1/x", nil); err != nil || status != http.StatusNoContent || got != "" {
		t.Errorf("no content: %d %q %v", status, got, err)
	}
}

// What a stream says arrives as it is said, and can be trusted then.
func TestStreamsArriveAsTheyAreSaid(t *testing.T) {
	d := start(t, mungetest.Start(t))
	heard := make(chan struct{})
	d.answer = func(w http.ResponseWriter, _ []byte) {
		fmt.Fprintln(w, "first")
		if err := http.NewResponseController(w).Flush(); err != nil {
			panic(err)
		}
		<-heard
		fmt.Fprintln(w, "second")
	}
	resp, err := d.client().Get(d.URL + "/v1/x")
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := resp.Body.Read(buf)
	if err != nil || string(buf[:n]) != "first\n" {
		t.Fatalf("%q %v", buf[:n], err)
	}
	close(heard)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(rest) != "second\n" {
		t.Errorf("%q %v", rest, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
}

// captured is a request as it was on the wire.
type captured struct {
	header http.Header
	body   []byte
}

func (c captured) send(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = c.header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK { // in frames
		return http.StatusOK, resp.Header.Get(mungehttp.StatusHeader)
	}
	return resp.StatusCode, string(data)
}

// capture has a client make a request that does not reach the gate.
func capture(t *testing.T, d *daemon, body string) captured {
	t.Helper()
	caught := make(chan captured, 1)
	spy := func(r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		caught <- captured{r.Header.Clone(), data}
		panic(http.ErrAbortHandler)
	}
	d.spy.Store(&spy)
	if _, _, err := ask(t, d.client(), d.URL+"/v1/x", strings.NewReader(body)); err == nil {
		t.Fatal("the request was answered")
	}
	d.spy.Store(nil)
	return <-caught
}

// A credential is for one request, and counts once: also if the daemon, or munged, was
// started anew in between.
func TestReplays(t *testing.T) {
	munged := mungetest.New(t)
	d := start(t, munged.Munge)
	refused := func(name string, status int, text string, want string) {
		t.Helper()
		if status/100 == 2 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	c := capture(t, d, "body")
	status, text := captured{c.header, []byte("bodY")}.send(t, "POST", d.URL+"/v1/x")
	if status != http.StatusOK || text != "400" {
		t.Errorf("another body: %d %s", status, text)
	}
	for name, at := range map[string][2]string{"path": {"POST", "/v1/y"}, "query": {"POST", "/v1/x?all=1"}, "method": {"PUT", "/v1/x"}} {
		status, text = capture(t, d, "body").send(t, at[0], d.URL+at[1])
		refused("another "+name, status, text, "another request")
	}
	c = capture(t, d, "body")
	other := c.header.Clone()
	other.Set(mungehttp.BodyHeader, strings.Repeat("0", 64))
	status, text = captured{other, c.body}.send(t, "POST", d.URL+"/v1/x")
	refused("another body's digest", status, text, "another request")

	c = capture(t, d, "body")
	if status, text := c.send(t, "POST", d.URL+"/v1/x"); status != http.StatusOK || text != "200" {
		t.Fatalf("as it was: %d %s", status, text)
	}
	status, text = c.send(t, "POST", d.URL+"/v1/x")
	refused("a second time", status, text, "used before")
	munged.Restart()
	status, text = c.send(t, "POST", d.URL+"/v1/x")
	refused("after a restart of munged", status, text, "used before")
	d.restart()
	munged.Restart()
	status, text = c.send(t, "POST", d.URL+"/v1/x")
	refused("after a restart of both", status, text, "earlier run")
	if n := d.done.Load(); n != 1 {
		t.Errorf("done %d times, want once", n)
	}
}

// A client notices nothing of a restart of the daemon.
func TestTheDaemonIsStartedAnew(t *testing.T) {
	d := start(t, mungetest.Start(t))
	c := d.client()
	for range 2 {
		if _, got, err := ask(t, c, d.URL+"/v1/x", strings.NewReader("body")); err != nil || got != "body" {
			t.Fatalf("%q %v", got, err)
		}
		d.restart()
	}
	// What can be sent only once is not: the answer says so.
	req, err := http.NewRequest("PUT", d.URL+"/v1/x", io.NopCloser(strings.NewReader("body")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(mungehttp.BodyHeader, "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5")
	resp, err := c.Do(req)
	if err != nil || resp.StatusCode != http.StatusConflict {
		t.Errorf("%+v %v", resp, err)
	}
	if resp, err = c.Get(d.URL + "/v1/x"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%+v %v", resp, err)
	}
}

// Long-lived credentials would have to be remembered for long.
func TestCredentialsThatLiveLong(t *testing.T) {
	d := start(t, mungetest.Start(t))
	c := capture(t, d, "")
	cred, err := d.m.EncodeFor(t.Context(), fmt.Sprintf("hpcenv-request-2 %s x %064x", d.name, 0), os.Getuid(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c.header.Set(mungehttp.RequestHeader, cred)
	if status, text := c.send(t, "POST", d.URL+"/v1/x"); status != http.StatusForbidden || !strings.Contains(text, "longer") {
		t.Errorf("%d %s", status, text)
	}
}

// thief answers at the port of a daemon that is down, without its account.
func thief(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == mungehttp.InstancePath {
			fmt.Fprint(w, `{"instance":"aa"}`)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// relay passes a client's requests on to the daemon and alters the answers.
func relay(t *testing.T, d *daemon, alter func(header http.Header, body []byte) []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequest(r.Method, d.URL+r.URL.RequestURI(), r.Body)
		if err != nil {
			panic(err)
		}
		req.Header, req.ContentLength = r.Header, r.ContentLength
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			panic(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(err)
		}
		if r.URL.Path != mungehttp.InstancePath {
			data = alter(resp.Header, data)
		}
		for k, v := range resp.Header {
			if k != "Content-Length" {
				w.Header()[k] = v
			}
		}
		w.WriteHeader(resp.StatusCode)
		if _, err := w.Write(data); err != nil {
			panic(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnswersOfOthersAreRefused(t *testing.T) {
	d := start(t, mungetest.Start(t))
	echo := strings.Repeat("answer", 20_000)
	cases := map[string]string{
		"nothing": thief(t, func(http.ResponseWriter, *http.Request) {}),
		"plain":   thief(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") }),
		"frames": thief(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(mungehttp.StatusHeader, "200")
			fmt.Fprint(w, strings.Repeat("\x80\x00\x00\x00", 9))
		}),
		"the question": thief(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(mungehttp.ReplyHeader, r.Header.Get(mungehttp.RequestHeader))
		}),
		"altered": relay(t, d, func(_ http.Header, b []byte) []byte { b[len(b)-1] ^= 1; return b }),
		"cut off": relay(t, d, func(_ http.Header, b []byte) []byte { return b[:len(b)-100] }),
		"its end cut": relay(t, d, func(_ http.Header, b []byte) []byte { // at a frame's end
			return b[:36+36+64<<10]
		}),
		"frames twice":   relay(t, d, func(_ http.Header, b []byte) []byte { return append(b[:36:36], b...) }),
		"another status": relay(t, d, func(h http.Header, b []byte) []byte { h.Set(mungehttp.StatusHeader, "204"); return b }),
	}
	for name, url := range cases {
		if status, got, err := ask(t, d.client(), url+"/v1/x", strings.NewReader(echo)); err == nil {
			t.Errorf("%s: %d, %d bytes", name, status, len(got))
		} else if name != "cut off" && name != "its end cut" && !errors.Is(err, mungehttp.ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The same relay, altering nothing, is only a longer cable.
	if _, got, err := ask(t, d.client(), relay(t, d, func(_ http.Header, b []byte) []byte { return b })+"/v1/x", strings.NewReader(echo)); err != nil || got != echo {
		t.Errorf("a relay: %d bytes, %v", len(got), err)
	}
}

// Whoever has MUNGE but not the daemon's account can neither read a request's key nor
// sign a refusal in its name.
func TestAnotherAccount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT ROOT: an account that is not the daemon's is needed, this test was not run")
	}
	d := start(t, mungetest.Start(t))
	c := &http.Client{Transport: &mungehttp.Transport{Munge: d.m, Owner: 12345}}
	if _, _, err := ask(t, c, d.URL+"/v1/x", nil); !errors.Is(err, mungehttp.ErrForged) || !strings.Contains(err.Error(), "it is of uid 0, hpcenvd runs as uid 12345") {
		t.Errorf("got %v", err)
	}
	if d.done.Load() != 0 {
		t.Error("something was done")
	}
}

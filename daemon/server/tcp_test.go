package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/munge/mungehttp"
	"github.com/hpcenv/hpcenv/internal/munge/mungetest"
)

// nodes notes what nodes told.
type nodes struct {
	told map[string]string
	from netip.Addr
	err  error
}

func (n *nodes) NodeFacts(_ context.Context, node string, from netip.Addr, data []byte) error {
	n.told[node], n.from = string(data), from
	return n.err
}

// startTCP serves b and n at an address; the server ends with the test.
func startTCP(t *testing.T, m munge.Munge, b *backend, n NodeBackend, access Access) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Backends{Work: b, Nodes: n}, Options{Log: slog.New(slog.DiscardHandler), Classify: classify, Access: access})
	r := NewTCP(s, m)
	served := make(chan error, 1)
	go func() { served <- r.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(r.Close(context.Background()), <-served, s.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func classify(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return api.Errorf(api.ExitFailed, "%v", err)
}

func TestNodesTell(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT ROOT: only root tells what a node is, this test was not run")
	}
	ctx := context.Background()
	m := mungetest.Start(t)
	n := &nodes{told: map[string]string{}}
	addr := startTCP(t, m, &backend{}, n, Access{})
	c := &api.Remote{Address: addr, Owner: os.Getuid(), Munge: m, From: net.ParseIP("127.0.0.9")}
	if err := c.PutFacts(ctx, "n1", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if n.told["n1"] != "{}" || n.from.String() != "127.0.0.9" {
		t.Errorf("told: %+v", n)
	}
	n.err = api.Errorf(api.ExitUsage, "no such node")
	var e *api.Error
	if err := c.PutFacts(ctx, "n2", nil); !errors.As(err, &e) || e.Code != api.ExitUsage || e.Message != "no such node" {
		t.Errorf("refused: %v", err)
	}
	n.err = nil
	// A daemon that runs as another account is not the one that was meant.
	c.Owner++
	if err := c.PutFacts(ctx, "n1", nil); err == nil || !strings.Contains(err.Error(), "is not hpcenvd") {
		t.Errorf("another owner: %v", err)
	}
}

// Users of other login nodes have the whole API: streams, and bytes that they hand over.
func TestUsersOfOtherHosts(t *testing.T) {
	dir := t.TempDir()
	content := strings.Repeat("content", 100_000) // several frames, several reads
	sum := digest([]byte(content))
	if err := os.WriteFile(filepath.Join(dir, "a.conda"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &backend{put: map[string]string{}}
	b.prepare = func(_ context.Context, report func(api.Event)) (*api.PrepareResult, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.put) == 0 {
			return nil, &api.NeedError{Archives: []api.Need{{Package: "a", Location: "./a.conda", SHA256: sum}}}
		}
		report(api.Event{Type: api.EventPlan, PackagesTotal: 3})
		return &api.PrepareResult{PackagesNew: 3}, nil
	}
	m := mungetest.Start(t)
	r := &api.Remote{Address: startTCP(t, m, b, nil, Access{}), Owner: os.Getuid(), Munge: m}
	c, err := r.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	planned := 0
	res, err := c.Prepare(t.Context(), &api.PrepareRequest{Lock: []byte("- conda: ./a.conda\n  sha256: " + sum + "\n"), LockPath: filepath.Join(dir, "pixi.lock")}, func(e api.Event) {
		if e.Type == api.EventPlan {
			planned = e.PackagesTotal
		}
	})
	if err != nil || res.PackagesNew != 3 || planned != 3 || b.put[sum] != content {
		t.Errorf("%+v %v, planned %d, handed over %d bytes", res, err, planned, len(b.put[sum]))
	}
	envs, err := c.List(t.Context())
	more, gerr := os.Getgroups()
	if err != nil || gerr != nil || len(envs) == 0 || *envs[0].Group != os.Getgid() {
		t.Errorf("list: %+v %v; groups %v %v", envs, err, more, gerr)
	}
	if st, err := c.Status(t.Context()); err != nil || st.Version != "test" {
		t.Errorf("status: %+v %v", st, err)
	}
	var e *api.Error
	if _, err := c.Inspect(t.Context(), "x/y?z"); !errors.As(err, &e) || e.Code != api.ExitUsage || !strings.Contains(e.Message, "x/y?z") {
		t.Errorf("inspect: %v", err)
	}
	// A mistaken owner is the client's matter, and it says so.
	r.Owner++
	c, err = r.Dial(t.Context())
	if err == nil {
		_, err = c.Status(t.Context())
	}
	if !errors.As(err, &e) || e.Code != api.ExitUnreachable || !strings.Contains(e.Message, "is not hpcenvd") || !strings.Contains(e.Message, "owner=") {
		t.Errorf("another owner: %v", err)
	}
	r.Address = "127.0.0.1:1"
	if _, err := r.Dial(t.Context()); !errors.As(err, &e) || e.Code != api.ExitUnreachable || !strings.Contains(e.Message, "127.0.0.1:1") {
		t.Errorf("nobody there: %v", err)
	}
}

// Root of another host is not the store's: it tells what its node is, and administers
// nothing unless it is listed.
func TestRootOfAnotherHost(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT ROOT: this test was not run")
	}
	m := mungetest.Start(t)
	retry := func(a Access) error {
		r := &api.Remote{Address: startTCP(t, m, &backend{}, nil, a), Owner: 0, Munge: m}
		c, err := r.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.RetrySiteBuilds(t.Context(), "0123", "mpi")
		return err
	}
	if err := retry(Access{}); err == nil || !strings.Contains(err.Error(), "only administrators may") {
		t.Errorf("not listed: %v", err)
	}
	if err := retry(Access{Administrators: Members{Users: []int{0}}}); err != nil {
		t.Errorf("listed: %v", err)
	}
}

// Without a credential a client is told why, and nothing of what it sent is looked at.
func TestStrangersAreRefused(t *testing.T) {
	n := &nodes{told: map[string]string{}}
	addr := startTCP(t, mungetest.Start(t), &backend{}, n, Access{})
	for _, cred := range []string{"", "garbage", "MUNGE:AAAA:"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+addr+"/v1/nodes/n1/facts", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(mungehttp.RequestHeader, cred)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "MUNGE credential refused") {
			t.Errorf("%q: %s %s", cred, resp.Status, text)
		}
	}
	if len(n.told) != 0 {
		t.Errorf("told: %v", n.told)
	}
}

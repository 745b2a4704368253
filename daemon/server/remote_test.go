package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/munge"
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

func startRemote(t *testing.T, m munge.Munge, n *nodes) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Backends{Work: &backend{}, Nodes: n}, Options{Classify: classify})
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
	addr := startRemote(t, m, n)
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
	// Whoever took the port of a daemon that is down gets no facts, and no credence.
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(munge.ReplyHeader, r.Header.Get(munge.RequestHeader))
	}))
	defer thief.Close()
	c = &api.Remote{Address: strings.TrimPrefix(thief.URL, "http://"), Owner: os.Getuid(), Munge: m}
	if err := c.PutFacts(ctx, "n1", nil); err == nil || !strings.Contains(err.Error(), "is not hpcenvd") {
		t.Errorf("a thief: %v", err)
	}
}

// What carries no good credential reaches nobody.
func TestStrangersAreRefused(t *testing.T) {
	ctx := context.Background()
	m := mungetest.Start(t)
	n := &nodes{told: map[string]string{}}
	addr := startRemote(t, m, n)
	put := func(cred string) int {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+addr+"/v1/nodes/n1/facts", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if cred != "" {
			req.Header.Set(munge.RequestHeader, cred)
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
	sign := func(path, body string) string {
		cred, err := m.SignRequest(ctx, http.MethodPut, path, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return cred
	}
	good := sign("/v1/nodes/n1/facts", "{}")
	if os.Getuid() == 0 {
		if code := put(good); code != http.StatusNoContent || n.told["n1"] != "{}" {
			t.Errorf("a good one: %d", code)
		}
	} else if code := put(good); code != http.StatusForbidden {
		t.Errorf("not root: %d", code)
	}
	n.told = map[string]string{}
	for name, cred := range map[string]string{
		"none": "", "replayed": good, "another path's": sign("/v1/nodes/n2/facts", "{}"), "another body's": sign("/v1/nodes/n1/facts", "{ }"), "garbage": "MUNGE:x:",
	} {
		if code := put(cred); code != http.StatusForbidden {
			t.Errorf("%s: %d", name, code)
		}
	}
	if len(n.told) != 0 {
		t.Errorf("told: %v", n.told)
	}
}

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// backend is work that a test holds in its hands.
type backend struct {
	runs    atomic.Int32
	prepare func(ctx context.Context, report func(api.Event)) (*api.PrepareResult, error)
	mu      sync.Mutex
	put     map[string]string
}

func (b *backend) Prepare(ctx context.Context, req *api.PrepareRequest, report func(api.Event)) (*api.PrepareResult, error) {
	b.runs.Add(1)
	return b.prepare(ctx, report)
}

func (b *backend) List(context.Context) ([]api.Environment, error) {
	return nil, errors.New("for whom?")
}

func (b *backend) Inspect(context.Context, string) (*api.EnvironmentDetail, error) {
	return nil, errors.New("for whom?")
}

func (b *backend) InspectFor(_ context.Context, _ []int, id string) (*api.EnvironmentDetail, error) {
	return nil, api.Errorf(api.ExitUsage, "no environment has the id %s", id)
}

func (b *backend) Status(context.Context) (*api.Status, error) {
	return &api.Status{Version: "test"}, nil
}

func (b *backend) RetrySiteBuilds(_ context.Context, id, name string) ([]api.EnvironmentBuilds, error) {
	return []api.EnvironmentBuilds{{ID: id, Builds: []api.SiteBuild{{Name: name}}}}, nil
}

func (b *backend) Holds(int, string) (bool, error) { return false, nil }

func (b *backend) PutArchive(_ context.Context, _ int, sha string, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put[sha] = string(data)
	return nil
}

// start serves b on a socket and returns it; the server ends with the test.
func start(t *testing.T, b *backend) (*Server, string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "s") // a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	socket := filepath.Join(dir, "s")
	l, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Backends{Work: b}, Options{Log: slog.New(slog.DiscardHandler), Classify: func(err error) *api.Error {
		var e *api.Error
		if errors.As(err, &e) {
			return e
		}
		return api.Errorf(api.ExitFailed, "%v", err)
	}})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(s.Close(ctx), <-done); err != nil {
			t.Error(err)
		}
	})
	return s, socket
}

func dial(t *testing.T, socket string) *api.Client {
	t.Helper()
	c, err := api.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSocketIsOpenToAllAndAnsweredOnce(t *testing.T) {
	_, socket := start(t, &backend{})
	st, err := os.Stat(socket)
	if err != nil || st.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if _, err := Listen(socket); err == nil || !strings.Contains(err.Error(), "another hpcenvd") {
		t.Errorf("second daemon: %v", err)
	}
}

func TestSocketOfADeadDaemonIsReplaced(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Listen(socket); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestNobodyThere(t *testing.T) {
	_, err := api.Dial(filepath.Join(t.TempDir(), "s"))
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.ExitUnreachable || !strings.Contains(e.Message, "systemctl status hpcenvd") {
		t.Errorf("got %v", err)
	}
}

// Two clients with one wish share the work and both see all of it; a client
// that leaves does not end it; the next one with that wish starts anew.
func TestWorkIsSharedAndOutlivesClients(t *testing.T) {
	reported, finish := make(chan struct{}), make(chan struct{})
	b := &backend{}
	b.prepare = func(ctx context.Context, report func(api.Event)) (*api.PrepareResult, error) {
		report(api.Event{Type: api.EventPlan, PackagesTotal: 3})
		close(reported)
		select {
		case <-finish:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return &api.PrepareResult{PackagesNew: 3}, nil
	}
	s, socket := start(t, b)
	req := &api.PrepareRequest{Lock: []byte("l"), LockPath: "/one", Platforms: []string{"a", "b"}}

	leaver, leave := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() {
		_, err := dial(t, socket).Prepare(leaver, req, nil)
		left <- err
	}()
	<-reported
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the one who left got %v", err)
	}

	same := *req
	same.LockPath, same.Platforms = "/two", []string{"b", "a"}
	saw := make(chan struct{})
	results := make(chan error, 2)
	for range 2 {
		go func() {
			var once sync.Once
			res, err := dial(t, socket).Prepare(context.Background(), &same, func(e api.Event) {
				if e.Type == api.EventPlan && e.PackagesTotal == 3 {
					once.Do(func() { saw <- struct{}{} })
				}
			})
			if err == nil && res.PackagesNew != 3 {
				err = fmt.Errorf("result %+v", res)
			}
			results <- err
		}()
	}
	<-saw
	<-saw
	close(finish)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := b.runs.Load(); n != 1 {
		t.Errorf("%d pieces of work, want 1", n)
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if len(s.jobs.byKey) != 0 {
		t.Errorf("finished work is still listed: %v", s.jobs.byKey)
	}
}

// A slow reader skips words about downloads, never milestones, and the job
// keeps one word per package.
func TestProgressIsBounded(t *testing.T) {
	j := &job{progress: map[string]slot{}, changed: make(chan struct{})}
	for i := range 10_000 {
		j.event(api.Event{Type: api.EventFetch, Package: fmt.Sprint(i % 3), Done: int64(i)})
		if i%1000 == 0 {
			j.event(api.Event{Type: api.EventNote, Text: fmt.Sprint(i)})
		}
	}
	j.event(api.Event{Type: api.EventFetched, Package: "0"})
	j.finish(nil, nil)
	count := map[string]int{}
	if err := j.follow(context.Background(), func(events []api.Event) error {
		for _, e := range events {
			count[e.Type]++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if count[api.EventFetch] != 2 || count[api.EventNote] != 10 || count[api.EventFetched] != 1 {
		t.Errorf("saw %v", count)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	b := &backend{prepare: func(context.Context, func(api.Event)) (*api.PrepareResult, error) {
		return nil, api.Errorf(api.ExitNoFit, "does not fit")
	}}
	_, socket := start(t, b)
	c := dial(t, socket)
	for name, call := range map[string]struct {
		code int
		do   func() error
	}{
		"prepare": {api.ExitNoFit, func() error { _, err := c.Prepare(context.Background(), &api.PrepareRequest{}, nil); return err }},
		"inspect": {api.ExitUsage, func() error { _, err := c.Inspect(context.Background(), "a/../b"); return err }},
	} {
		var e *api.Error
		if err := call.do(); !errors.As(err, &e) || e.Code != call.code {
			t.Errorf("%s: %v, want code %d", name, err, call.code)
		}
	}
}

// Stopping the daemon ends work and tells its clients.
func TestCloseEndsWork(t *testing.T) {
	started := make(chan struct{})
	b := &backend{prepare: func(ctx context.Context, _ func(api.Event)) (*api.PrepareResult, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	s, socket := start(t, b)
	got := make(chan error, 1)
	go func() {
		_, err := dial(t, socket).Prepare(context.Background(), &api.PrepareRequest{}, nil)
		got <- err
	}()
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := <-got; err == nil {
		t.Error("the client was told that all is well")
	}
}

// A client hands over what its lock names, and nothing else whatever a daemon
// asks for.
func TestHandingOver(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.conda"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	const sum = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73" // of "content"
	var ask []api.Need
	b := &backend{put: map[string]string{}}
	b.prepare = func(context.Context, func(api.Event)) (*api.PrepareResult, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.put) == 0 {
			return nil, &api.NeedError{Archives: ask}
		}
		return &api.PrepareResult{}, nil
	}
	_, socket := start(t, b)
	c := dial(t, socket)
	req := &api.PrepareRequest{Lock: []byte("- conda: ./a.conda\n  sha256: " + sum + "\n"), LockPath: filepath.Join(dir, "pixi.lock")}

	ask = []api.Need{{Package: "shadow", Location: "/etc/shadow", SHA256: sum}}
	if _, err := c.Prepare(context.Background(), req, nil); err == nil || !strings.Contains(err.Error(), "does not name") {
		t.Errorf("asked for what the lock does not name: %v", err)
	}
	ask = []api.Need{{Package: "a", Location: "./a.conda", SHA256: sum}}
	if _, err := c.Prepare(context.Background(), req, nil); err != nil {
		t.Error(err)
	}
	if b.put[sum] != "content" {
		t.Errorf("handed over: %q", b.put)
	}
}

// A client may neither take all memory nor all time of the daemon: what one
// user's requests hold is bounded, also when the client leaves, and another
// user's share is untouched.
func TestRequestsOfOneUserAreBounded(t *testing.T) {
	b := newShares(100)
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	first, err := b.take(short, 1, 60)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.take(short, 1, 60); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("120 of 100 bytes were given: %v", err)
	}
	whole, err := b.take(context.Background(), 2, 1000)
	if err != nil {
		t.Errorf("another user, with more than there is: %v", err)
	}
	first()
	again, err := b.take(context.Background(), 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	again()
	again()
	whole()
	if len(b.byUser) != 0 {
		t.Errorf("%d users are remembered", len(b.byUser))
	}
}

func TestAJobKeepsItsShareWhenTheClientLeaves(t *testing.T) {
	finish, begun := make(chan struct{}), make(chan struct{})
	s, socket := start(t, &backend{prepare: func(context.Context, func(api.Event)) (*api.PrepareResult, error) {
		close(begun)
		<-finish
		return &api.PrepareResult{}, nil
	}})
	ctx, leave := context.WithCancel(context.Background())
	go func() { <-begun; leave() }()
	if _, err := dial(t, socket).Prepare(ctx, &api.PrepareRequest{Lock: []byte("l")}, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	held := func() int {
		s.shares.mu.Lock()
		defer s.shares.mu.Unlock()
		return len(s.shares.byUser)
	}
	time.Sleep(50 * time.Millisecond)
	if held() != 1 {
		t.Error("the job's request is not counted any more while it works")
	}
	close(finish)
	for i := 0; held() != 0; i++ {
		if i == 500 {
			t.Fatal("the finished job's request is still counted")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A fault in one user's work ends that work, not the daemon.
func TestAPanicEndsItsOwnWorkOnly(t *testing.T) {
	_, socket := start(t, &backend{prepare: func(context.Context, func(api.Event)) (*api.PrepareResult, error) {
		panic("hostile lock")
	}})
	c := dial(t, socket)
	if _, err := c.Prepare(context.Background(), &api.PrepareRequest{Lock: []byte("l")}, nil); err == nil || !strings.Contains(err.Error(), "hostile lock") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Status(context.Background()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// The store's administrator may have failed builds tried again (who else asks is refused:
// a story of the cluster's tests).
func TestRetryOfSiteBuilds(t *testing.T) {
	_, socket := start(t, &backend{})
	got, err := dial(t, socket).RetrySiteBuilds(t.Context(), "0123", "mpi & more")
	if err != nil || len(got) != 1 || got[0].ID != "0123" || got[0].Builds[0].Name != "mpi & more" {
		t.Errorf("%+v %v", got, err)
	}
}

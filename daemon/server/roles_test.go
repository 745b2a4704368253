package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/munge/mungehttp"
	"github.com/hpcenv/hpcenv/internal/munge/mungetest"
)

// mayAsk is the table of routes and who may ask, as it is meant: a route that is not in
// it fails the test, and so does one that lets in more or fewer than it says.
//
// Over the socket: o a user, owner of the thing where it has one; u another user;
// s of the support group; a an administrator; d the daemon's own account; r root.
// From another host, with MUNGE: O U S A, and R its root. x: anybody there, without.
var mayAsk = map[string]string{
	"POST /v1/prepare":                "ousadr OUSAR",
	"PUT /v1/archives/{sha256}":       "ousadr OUSAR",
	"GET /v1/environments":            "ousadr OUSAR",
	"GET /v1/environments/{id}":       "ousadr OUSAR",
	"GET /v1/mine":                    "ousadr OUSAR",
	"DELETE /v1/mine/{id}":            "ousadr OUSAR",
	"GET /v1/status":                  "ousadr OUSAR",
	"GET /v1/instance":                "ousadr OUSARx",
	"POST /v1/site-builds/{id}/retry": "   adr    A",
	"POST /v1/index/rebuild":          "   adr    A",
	"GET /v1/index":                   "  sadr   SA",
	"GET /v1/requests":                "  sadr   SA",
	"GET /v1/where/{name}":            "  sadr   SA",
	"GET /v1/admin/status":            "  sadr   SA",
	"GET /v1/watched":                 "  sadr   SA",
	"GET /v1/config":                  "  sadr   SA",
	"GET /v1/gc":                      "  sadr   SA",
	"POST /v1/gc":                     "   adr    A",
	"POST /v1/leases":                 "ousadr OUSAR",
	"GET /v1/leases":                  "ousadr OUSAR",
	"DELETE /v1/leases/{token}":       "o  adr O  A",
	"GET /v1/jobs/{id}":               "o sadr O SA",
	"PUT /v1/names/{name...}":         "   adr    A",
	"DELETE /v1/names/{name...}":      "   adr    A",
	"PUT /v1/nodes/{name}/facts":      "             R",
}

// account is a user of this host, or a number that stands for one.
type account struct {
	letter   byte
	uid, gid int
	groups   []uint32
}

func accounts() []account {
	named := func(name string, otherwise int) int {
		if u, err := user.Lookup(name); err == nil {
			if uid, err := strconv.Atoi(u.Uid); err == nil {
				return uid
			}
		}
		return otherwise
	}
	const supportGroup = 54331
	one, two, daemon := named("hpcenv-user1", 54321), named("hpcenv-user2", 54322), named("hpcenvd", 54323)
	return []account{
		{'o', one, one, nil}, {'u', two, two, nil}, {'s', 54324, 54324, []uint32{54330, supportGroup}},
		{'a', 54325, 54325, nil}, {'d', daemon, daemon, nil}, {'r', 0, 0, nil},
	}
}

// TestEveryRouteByEveryRole asks everything that is in the table as everybody: processes
// of real accounts, over a real socket, and over TCP with a real munged.
func TestEveryRouteByEveryRole(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT ROOT: the table of routes and roles was not walked")
	}
	m := mungetest.Start(t)
	dir := openDir(t)
	who := accounts()
	b := &backend{put: map[string]string{}, prepare: func(context.Context, func(api.Event)) (*api.PrepareResult, error) { return &api.PrepareResult{}, nil }}
	s := New(Backends{Work: b, Nodes: &nodes{told: map[string]string{}}}, Options{Log: slog.New(slog.DiscardHandler), Classify: classify, Access: Access{
		Administrators: Members{Users: []int{who[3].uid}}, Support: Members{Groups: []int{int(who[2].groups[1])}},
	}})
	s.account = who[4].uid
	// The groups that MUNGE does not tell.
	s.groups.look = func(uid int) (gids []int, err error) {
		for _, a := range who {
			if a.uid == uid {
				for _, g := range a.groups {
					gids = append(gids, int(g))
				}
			}
		}
		return gids, nil
	}
	for i := range s.table {
		if s.table[i].For&Owner != 0 {
			s.table[i].Owner = func(*Request) (int, error) { return who[0].uid, nil }
		}
	}
	s.http.Handler = s.handler(s.local)
	remote := NewTCP(s, m)
	socket := filepath.Join(dir, "s")
	local, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- s.Serve(local) }()
	go func() { served <- remote.Serve(tcp) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(remote.Close(ctx), s.Close(ctx), <-served, <-served); err != nil {
			t.Error(err)
		}
	})

	program := copySelf(t, dir)
	order := question{Socket: socket, Address: tcp.Addr().String(), Munge: m.Socket, Owner: 0}
	for _, rt := range s.table {
		order.Routes = append(order.Routes, [2]string{rt.Method, regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(rt.Pattern, "0123")})
	}
	got := map[string][]byte{}
	note := func(letter byte, statuses []int) {
		for i, status := range statuses {
			rt := s.table[i].Method + " " + s.table[i].Pattern
			switch {
			case status == 0:
				t.Errorf("%s as %c: no answer", rt, letter)
			case status != http.StatusForbidden:
				got[rt] = append(got[rt], letter)
			}
		}
	}
	for _, a := range who {
		if a.letter != 'd' { // the daemon's account has no other host
			note(a.letter-'a'+'A', order.ask(t, program, a, true))
		}
		note(a.letter, order.ask(t, program, a, false))
	}
	note('x', order.ask(t, program, account{letter: 'x', uid: 54326, gid: 54326}, true))

	for _, rt := range s.table {
		name := rt.Method + " " + rt.Pattern
		want, listed := mayAsk[name]
		if !listed {
			t.Errorf("%s (for %v) is not in the table of this test", name, rt.For)
			continue
		}
		have, meant := sorted(string(got[name])), sorted(want)
		if have != meant {
			t.Errorf("%s: %q may, %q should", name, have, meant)
		}
	}
	if len(mayAsk) != len(s.table) {
		t.Errorf("the table of this test has %d routes, the server's has %d", len(mayAsk), len(s.table))
	}
}

// TestNothingIsAnsweredBesideTheTable: handlers are registered in one place, from the
// table.
func TestNothingIsAnsweredBesideTheTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	registers := regexp.MustCompile(`\.Handle(Func)?\(|NewServeMux`)
	found := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(registers.FindAll(data, -1)); n > 0 && !strings.HasSuffix(file, "_test.go") {
			found[file] = n
		}
	}
	if len(found) != 1 || found["server.go"] != 3 { // the mux, its rows, and what is in none
		t.Errorf("handlers are registered in %v", found)
	}
}

func sorted(letters string) string {
	b := []byte(strings.ReplaceAll(letters, " ", ""))
	slices.Sort(b)
	return string(b)
}

// question is what a process of another account is to ask.
type question struct {
	Socket, Address, Munge string
	Owner                  int
	Remote, Stranger       bool
	Routes                 [][2]string
}

// ask has a process of the account ask all, and returns the status of each answer.
func (q question) ask(t *testing.T, program string, a account, remote bool) (statuses []int) {
	t.Helper()
	q.Remote, q.Stranger = remote, a.letter == 'x'
	in, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{askVariable + "=1", "GORACE=atexit_sleep_ms=0"}
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid), Groups: a.groups}}
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &statuses)
	}
	if err != nil || len(statuses) != len(q.Routes) {
		t.Fatalf("as %c: %v %s", a.letter, err, out)
	}
	return statuses
}

// askVariable makes this test's program one that asks a question.
const askVariable = "HPCENV_TEST_ASK"

func TestMain(m *testing.M) {
	if os.Getenv(askVariable) == "" {
		os.Exit(m.Run())
	}
	var q question
	err := json.NewDecoder(os.Stdin).Decode(&q)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(q.answers())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (q question) answers() (statuses []int) {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", q.Socket)
	}}}
	if q.Remote {
		client = &http.Client{Transport: &mungehttp.Transport{Munge: munge.Munge{Socket: q.Munge}, Owner: q.Owner}}
	}
	if q.Stranger {
		client = http.DefaultClient
	}
	for _, rt := range q.Routes {
		var body io.Reader
		if rt[0] != http.MethodGet {
			body = strings.NewReader("{}")
		}
		req, err := http.NewRequest(rt[0], "http://"+q.Address+rt[1], body)
		if err != nil {
			panic(err)
		}
		from := client
		if q.Remote && rt[1] == mungehttp.InstancePath {
			from = http.DefaultClient // that answer vouches for nothing
		}
		resp, err := from.Do(req)
		if err != nil {
			fmt.Fprintln(os.Stderr, rt, err)
			statuses = append(statuses, 0)
			continue
		}
		statuses = append(statuses, resp.StatusCode)
		_, _ = io.Copy(io.Discard, resp.Body) // the status is what counts
		_ = resp.Body.Close()
	}
	return statuses
}

// openDir is a short directory that everybody may enter.
func openDir(t *testing.T) string {
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
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copySelf is this test's program where everybody may run it.
func copySelf(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "ask")
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}

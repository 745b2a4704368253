package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/version"
)

// lookMunge makes and checks a credential.
func (h *Host) lookMunge(ctx context.Context, m munge.Munge) (f findings) {
	const check = "MUNGE"
	cred, err := m.Encode(ctx, "hpcenv admin doctor")
	if err == nil {
		var c *munge.Credential
		if c, err = m.Decode(ctx, cred); err == nil && c.UID != h.UID {
			f.add(Problem, check, "see whether munged is the site's own", "it takes uid %d for %d", h.UID, c.UID)
			return f
		}
	}
	switch {
	case err == nil:
		f.add(OK, check, "", "makes and takes credentials")
	case h.Conf.Daemon != "":
		f.add(Problem, check, "systemctl status munge; name its socket with munge_socket in hpcenv.conf", "%v", err)
	default:
		f.add(Note, check, "", "%v", err)
	}
	return f
}

// lookDaemon: whether it answers here, of which release it is, and its clock.
func (h *Host) lookDaemon(ctx context.Context, r *Report) (f findings) {
	const check = "daemon"
	socket := h.Conf.Socket
	if socket == "" {
		socket = h.plug.arg("socket", "")
	}
	if socket == "" && r.is(RoleDaemon) {
		socket = defaultSock
	}
	if _, err := os.Stat(socket); h.Conf.Daemon != "" && err != nil {
		return h.lookFarDaemon(ctx)
	}
	if socket == "" {
		f.add(Note, check, "", "neither socket nor daemon is configured here")
		return f
	}
	st, at, err := ask(ctx, socket)
	if err != nil {
		level, next := Warning, "on a host without the daemon: set daemon = HOST:PORT in hpcenv.conf; jobs that are prepared run without it"
		if r.is(RoleDaemon) {
			level, next = Problem, "systemctl status hpcenvd; journalctl -u hpcenvd"
		}
		f.add(level, check, next, "%s: %v", socket, err)
		return f
	}
	f = append(f, release(st)...)
	if !at.IsZero() {
		if off := time.Since(at); off > time.Minute || off < -time.Minute {
			f.add(Warning, "clock", "set both clocks by NTP: MUNGE refuses what is older than five minutes", "the daemon's clock is %s off", off.Round(time.Second))
		}
	}
	return f
}

// release compares the daemon's with this one.
func release(st *api.Status) (f findings) {
	if st.Version != version.String() {
		f.add(Warning, "daemon", "install one release everywhere; restart hpcenvd after an upgrade", "it is %s, this is %s", st.Version, version.String())
		return f
	}
	f.add(OK, "daemon", "", "%s answers, store %s", st.Version, st.Store)
	return f
}

// lookFarDaemon asks the daemon of another host, with MUNGE: its answer shows that both
// hosts have one key and, within MUNGE's five minutes, one time.
func (h *Host) lookFarDaemon(ctx context.Context) (f findings) {
	place := api.Place{Daemon: h.Conf.Daemon, Owner: h.Conf.Owner, MungeSocket: h.Conf.MungeSocket}
	client, err := place.Dial(ctx)
	var st *api.Status
	if err == nil {
		st, err = client.Status(ctx)
	}
	if err != nil {
		f.add(Problem, "daemon", "see that hpcenvd listens there, that no firewall is between, and that both hosts have MUNGE's key and the right time", "%s: %v", h.Conf.Daemon, err)
		return f
	}
	return release(st)
}

// ask asks the daemon who it is, and the time of its host.
func ask(ctx context.Context, socket string) (*api.Status, time.Time, error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hpcenvd/v1/status", nil)
	if err != nil {
		return nil, time.Time{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, time.Time{}, err
	}
	defer resp.Body.Close() // only read
	if resp.StatusCode != http.StatusOK {
		return nil, time.Time{}, errors.New(resp.Status)
	}
	st := new(api.Status)
	if err := json.NewDecoder(resp.Body).Decode(st); err != nil {
		return nil, time.Time{}, err
	}
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		at = time.Time{} // another clock cannot be compared; no more than that
	}
	return st, at, nil
}

// lookPrefixRoot: where environments appear.
func (h *Host) lookPrefixRoot(context.Context) (f findings) {
	const check = "prefix root"
	if h.plug.where == "" && h.Conf.PrefixRoot == "" {
		return nil
	}
	root := h.plug.arg("prefix_root", defaultRoot)
	if h.plug.where == "" {
		root = h.Conf.PrefixRoot
	}
	st, err := os.Stat(h.at(root))
	switch {
	case err != nil:
		f.add(Problem, check, "mkdir -p "+root, "%v", err)
	case !st.IsDir():
		f.add(Problem, check, "replace it by a directory", "%s is none", root)
	case othersMayWrite(st) != "" && !h.mounted(root):
		f.add(Problem, check, "chown root "+root+" && chmod go-w "+root, "%s %s", root, othersMayWrite(st))
	default:
		f.add(OK, check, "", "%s", root)
	}
	return f
}

// mounted tells whether something is mounted at a directory. (A bind mount has the device
// of what lies below it.)
func (h *Host) mounted(path string) bool {
	table, err := os.ReadFile(h.at("/proc/self/mountinfo"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == path {
			return true
		}
	}
	return false
}

// lookNode: what a compute node keeps and tells.
func (h *Host) lookNode(_ context.Context, r *Report) (f findings) {
	const check = "node facts"
	if !r.is(RoleCompute) || h.plug.where == "" {
		return nil
	}
	facts := filepath.Join(h.plug.arg("run_dir", filepath.Dir(factsPath)), filepath.Base(factsPath))
	if _, err := os.Stat(h.at(facts)); err != nil {
		f.add(Note, check, "systemctl enable --now hpcenv-facts", "what this node is is not kept in %s: each launch reads it anew", facts)
	} else {
		f.add(OK, check, "", "%s", facts)
	}
	if p, known := h.settings["HealthCheckProgram"]; known && p == "" {
		f.add(Note, "health check", "HealthCheckProgram=/usr/bin/hpcenv-health tells hpcenvd what nodes are", "slurm.conf names no HealthCheckProgram")
	}
	return f
}

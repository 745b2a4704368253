package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
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
	if socket == "" {
		f.add(Note, check, "", "no socket is configured here")
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
	switch {
	case st.Version != version.String():
		f.add(Warning, check, "install one release everywhere; restart hpcenvd after an upgrade", "it is %s, this is %s", st.Version, version.String())
	default:
		f.add(OK, check, "", "%s answers, store %s", st.Version, st.Store)
	}
	if !at.IsZero() {
		if off := time.Since(at); off > time.Minute || off < -time.Minute {
			f.add(Warning, "clock", "set both clocks by NTP: MUNGE refuses what is older than five minutes", "the daemon's clock is %s off", off.Round(time.Second))
		}
	}
	return f
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
	case othersMayWrite(st) != "" && !mounted(h.at(root)):
		f.add(Problem, check, "chown root "+root+" && chmod go-w "+root, "%s %s", root, othersMayWrite(st))
	default:
		f.add(OK, check, "", "%s", root)
	}
	return f
}

// mounted tells whether something is mounted at a directory.
func mounted(path string) bool {
	here, err := os.Stat(path)
	above, aerr := os.Stat(filepath.Dir(path))
	return err == nil && aerr == nil && device(here) != device(above)
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

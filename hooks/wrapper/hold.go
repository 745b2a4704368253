package wrapper

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// staleAfter is the age at which the file of a holder that is gone is removed.
const staleAfter = time.Hour

// holder is a process that keeps a namespace alive.
type holder struct {
	Pid int `json:"pid"`
	// Start is its start time in clock ticks since boot: a pid is used again.
	Start string `json:"start"`
	// Socket is where it is asked to attach more; "" = nobody asks.
	Socket string `json:"socket,omitempty"`
	// Attached are the prefixes that are in its namespace.
	Attached []string `json:"attached,omitempty"`
}

func (h *holder) alive() bool {
	start, err := startTime(h.Pid)
	return err == nil && start == h.Start
}

// startTime is field 22 of /proc/PID/stat.
func startTime(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	i := strings.LastIndexByte(string(data), ')')
	fields := strings.Fields(string(data[i+1:]))
	if i < 0 || len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat: unexpected form", pid)
	}
	if fields[0] == "Z" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fields[19], nil
}

var wordRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_.+-]{1,64}$`) })

// stepName is what processes of one Slurm step on this node have in common; ""
// outside of jobs.
func stepName(env []string) string {
	jobID := getenv(env, "SLURM_JOB_ID")
	if !wordRE().MatchString(jobID) {
		return ""
	}
	step := getenv(env, "SLURM_STEP_ID")
	if !wordRE().MatchString(step) {
		step = "batch"
	}
	// Several slurmd may share a host (development, front ends).
	node := getenv(env, "SLURMD_NODENAME")
	if !wordRE().MatchString(node) {
		node = "node"
	}
	return jobID + "." + step + "." + node
}

// join returns namespaces in which all of what is attached: those of this Slurm step on
// this node, else new ones.
func join(ctx context.Context, env []string, self string, what []way) (*namespaces, error) {
	name := stepName(env)
	if name == "" {
		_, ns, err := begin(ctx, self, "", nil, what)
		return ns, err
	}
	dir, err := holderDir()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("attaching: %w", err)
	}
	ns, err := shared(ctx, f, self, what)
	// Closing gives the lock back.
	return ns, errors.Join(err, f.Close())
}

// begin starts a holder and has it attach all of what.
func begin(ctx context.Context, self, socket string, listener *os.File, what []way) (*holder, *namespaces, error) {
	h, conn, err := startHolder(ctx, self, what[0].Prefix, socket, listener)
	if err != nil {
		return nil, nil, err
	}
	err = h.attach(ctx, conn, what)
	var ns *namespaces
	if err == nil {
		ns, err = h.namespaces()
	}
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, nil, err
	}
	return h, ns, nil
}

// attach asks the holder to attach what it has not.
func (h *holder) attach(ctx context.Context, conn *net.UnixConn, what []way) error {
	for _, w := range what {
		if slices.Contains(h.Attached, w.Prefix) {
			continue
		}
		if err := ask(ctx, conn, &w.place, w.image); err != nil {
			return err
		}
		h.Attached = append(h.Attached, w.Prefix)
	}
	return nil
}

// sweep removes files of steps that are long over, but never the one in use. Failing to is no harm: the
// next launch tries again.
func sweep(dir, except string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil || e.Name() == except || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		if info.Mode()&fs.ModeSocket != 0 {
			if conn, err := net.Dial("unixpacket", path); err == nil {
				conn.Close() // nothing was said
				continue
			}
		}
		var h holder
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &h) == nil && h.alive() {
			continue
		}
		if os.Remove(path) != nil {
			return
		}
	}
}

// shared takes the holder that f names, under its lock, or starts one and names it.
func shared(ctx context.Context, f *os.File, self string, what []way) (*namespaces, error) {
	if err := lock(ctx, f); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("attaching: %w", err)
	}
	h := new(holder)
	// What does not parse was written by a launch that was killed.
	if json.Unmarshal(data, h) == nil && h.Pid > 1 && h.alive() {
		ns, err := h.with(ctx, what)
		if err == nil && len(h.Attached) > 0 {
			err = h.write(f)
		}
		if ns != nil || !errors.Is(err, errGone) {
			return ns, err
		}
	}
	if filepath.Dir(h.Socket) == filepath.Dir(f.Name()) {
		// Of one that was killed.
		if err := os.Remove(h.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	sweep(filepath.Dir(f.Name()), filepath.Base(f.Name()))
	socket, listener, err := listen(filepath.Dir(f.Name()))
	if err != nil {
		return nil, err
	}
	h, ns, err := begin(ctx, self, socket, listener, what)
	if err = errors.Join(err, listener.Close()); err != nil {
		if ns != nil {
			err = errors.Join(err, ns.close())
		}
		return nil, err
	}
	return ns, h.write(f)
}

// with has a holder that runs attach all of what, too. An error of class errGone: it has
// ended just now.
func (h *holder) with(ctx context.Context, what []way) (*namespaces, error) {
	ns, err := h.namespaces()
	has := func(w way) bool { return slices.Contains(h.Attached, w.Prefix) }
	if err != nil || !slices.ContainsFunc(what, func(w way) bool { return !has(w) }) {
		return ns, err
	}
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: h.Socket, Net: "unixpacket"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errGone, err), ns.close())
	}
	if err := errors.Join(h.attach(ctx, conn, what), conn.Close()); err != nil {
		return nil, errors.Join(err, ns.close())
	}
	return ns, nil
}

// write names the holder in f.
func (h *holder) write(f *os.File) error {
	data, err := json.Marshal(h)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err != nil {
		return fmt.Errorf("attaching: %w", err)
	}
	return nil
}

// listen makes the socket of a new holder. Its name is as long as a socket's may be in
// any directory of ours, and no other's.
func listen(dir string) (path string, f *os.File, err error) {
	path = filepath.Join(dir, "s"+rand.Text()[:16])
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		return "", nil, fmt.Errorf("attaching: %w", err)
	}
	l.SetUnlinkOnClose(false)
	f, err = l.File()
	if err = errors.Join(err, l.Close()); err != nil {
		return "", nil, fmt.Errorf("attaching: %w", err)
	}
	return path, f, nil
}

// namespaces are those of a holder, held open: they stay when it ends.
type namespaces struct{ user, mount *os.File }

// namespaces opens them. An error of class errGone: it has ended.
func (h *holder) namespaces() (*namespaces, error) {
	user, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", h.Pid))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	ns := &namespaces{user: user}
	if ns.mount, err = os.Open(fmt.Sprintf("/proc/%d/ns/mnt", h.Pid)); err == nil && !h.alive() {
		err = fs.ErrNotExist // the process is another one by now
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errGone, err), ns.close())
	}
	return ns, nil
}

// here tells whether this process is in them already: within a program of the same step.
func (ns *namespaces) here() (bool, error) {
	own, err := os.Stat("/proc/self/ns/mnt")
	if err != nil {
		return false, fmt.Errorf("attaching: %w", err)
	}
	theirs, err := ns.mount.Stat()
	if err != nil {
		return false, fmt.Errorf("attaching: %w", err)
	}
	return os.SameFile(own, theirs), nil
}

func (ns *namespaces) close() error {
	err := ns.user.Close()
	if ns.mount != nil {
		err = errors.Join(err, ns.mount.Close())
	}
	return err
}

// lock waits for the file's lock, a minute at most: its owner only starts a
// process meanwhile.
func lock(ctx context.Context, f *os.File) error {
	deadline := time.Now().Add(time.Minute)
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("attaching: lock of %s: %w", f.Name(), err)
		}
		if time.Now().After(deadline) {
			return api.Errorf(api.ExitLate, "attaching: another launch of this step holds %s for more than a minute\nnext: look for it with fuser %s", f.Name(), f.Name())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("attaching: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// holderDir is /tmp/hpcenv-<uid>, made by and for this user only: /tmp is
// everybody's, so what is there already must be proven ours.
func holderDir() (string, error) {
	dir := filepath.Join("/tmp", "hpcenv-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("attaching: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("attaching: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return "", api.Errorf(api.ExitFailed, "attaching: %s is there already and is not a directory of yours alone\nnext: remove it, or tell the administrator: somebody else made it", dir)
	}
	return dir, nil
}

package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
)

const (
	// holdCheck is the time between two looks for other processes; a namespace
	// that nobody but its holder was in for two looks ends.
	holdCheck = 2 * time.Second
	// staleAfter is the age at which the file of a holder that is gone is
	// removed.
	staleAfter = time.Hour
)

// holder is a process that keeps a namespace alive.
type holder struct {
	Pid int `json:"pid"`
	// Start is its start time in clock ticks since boot: a pid is used again.
	Start string `json:"start"`
	// Root and Trees tell what is attached where.
	Root  string `json:"root"`
	Trees string `json:"trees"`
}

func (h *holder) ns(kind string) string {
	return fmt.Sprintf("/proc/%d/ns/%s", h.Pid, kind)
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

// findHolder returns a holder for the prefix root: the one of this Slurm step
// on this node, else a new one.
func findHolder(ctx context.Context, env []string, self, trees, root string) (*holder, error) {
	name := stepName(env)
	if name == "" {
		return startHolder(ctx, self, trees, root)
	}
	dir, err := holderDir()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("attaching: %w", err)
	}
	h, err := shared(ctx, f, self, trees, root)
	// Closing gives the lock back.
	return h, errors.Join(err, f.Close())
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
		var h holder
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &h) == nil && h.alive() {
			continue
		}
		if os.Remove(path) != nil {
			return
		}
	}
}

// shared reads the holder that f names, under its lock, or starts one and
// names it.
func shared(ctx context.Context, f *os.File, self, trees, root string) (*holder, error) {
	if err := lock(ctx, f); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("attaching: %w", err)
	}
	var h holder
	// What does not parse was written by a launch that was killed.
	if json.Unmarshal(data, &h) == nil && h.Root == root && h.Trees == trees && h.Pid > 1 && h.alive() {
		return &h, nil
	}
	sweep(filepath.Dir(f.Name()), filepath.Base(f.Name()))
	fresh, err := startHolder(ctx, self, trees, root)
	if err != nil {
		return nil, err
	}
	fresh.Root, fresh.Trees = root, trees
	if data, err = json.Marshal(fresh); err != nil {
		return nil, fmt.Errorf("attaching: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		return nil, fmt.Errorf("attaching: %w", err)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return nil, fmt.Errorf("attaching: %w", err)
	}
	return fresh, nil
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

// hold is the holder: in new namespaces (made by its starter), it binds the
// trees at the prefix root, says so, and stays until nobody else is in them.
func hold(trees, root, readyArg string) (int, error) {
	fd, err := strconv.Atoi(readyArg)
	if err != nil {
		return api.ExitUsage, fmt.Errorf("%s: %q is not a descriptor", HoldWord, readyArg)
	}
	ready := os.NewFile(uintptr(fd), "ready")
	err = attach(trees, root)
	said := "ready"
	if err != nil {
		said = err.Error()
	}
	if _, werr := io.WriteString(ready, said); werr != nil || err != nil {
		return api.ExitFailed, nil // The starter tells it, or is gone.
	}
	if err := letGo(ready); err != nil {
		return api.ExitFailed, nil
	}
	mine, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return api.ExitFailed, nil
	}
	for alone := 0; alone < 2; {
		time.Sleep(holdCheck)
		if others(mine) {
			alone = 0
		} else {
			alone++
		}
	}
	return api.ExitDone, nil
}

// letGo closes what the holder has of its starter: a pipe or terminal that it
// kept open would make others wait for its end.
func letGo(ready *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for fd := 0; fd < 3; fd++ {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return errors.Join(null.Close(), ready.Close())
}

func attach(trees, root string) error {
	// What is mounted on the host later still appears here; nothing goes back.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("own mounts: %w", err)
	}
	if err := unix.Mount(trees, root, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount of %s at %s: %w", trees, root, err)
	}
	return nil
}

// others tells whether any other process is in the mount namespace.
func others(mine string) bool {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return true // Not known: stay.
	}
	self := "/proc/" + strconv.Itoa(os.Getpid())
	for _, p := range procs {
		if ns, err := os.Readlink(p + "/ns/mnt"); err == nil && ns == mine && p != self {
			return true
		}
	}
	return false
}

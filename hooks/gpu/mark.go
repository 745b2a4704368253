package gpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// Files below the run directory: the mark of a child that runs, and the lock that
// is held while one is looked for and started.
const (
	markFile = "gpu.child"
	lockFile = "gpu.lock"
)

// mark says which child was started last. It is left behind by a child that
// hangs, and by a parent that was killed.
type mark struct {
	Boot string `json:"boot"`
	Pid  int    `json:"pid"`
	// Born is the kernel's time of its start, in ticks since the boot.
	Born  string    `json:"born"`
	Since time.Time `json:"since"`
	// Call is what it hangs in; Hung: SIGKILL did not end it.
	Call string `json:"call,omitempty"`
	Hung bool   `json:"hung,omitempty"`
}

// note writes the child's mark; after finish it says that the child hangs.
func (c *child) note(o Options) error {
	if o.RunDir == "" {
		return nil
	}
	boot, err := facts.BootID()
	if err != nil {
		return err
	}
	old, err := readMark(o.RunDir)
	if err != nil {
		return err
	}
	m := mark{Boot: boot, Pid: c.cmd.Process.Pid, Born: c.born, Since: time.Now().UTC().Truncate(time.Second)}
	if old != nil && old.Pid == m.Pid && old.Born == m.Born {
		m.Since, m.Hung, m.Call = old.Since, true, c.lastCall()
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return facts.WriteTrusted(filepath.Join(o.RunDir, markFile), append(b, '\n'))
}

// unmark removes the mark of a child that has ended. Where another start is under
// way it stays: the mark of what has ended forbids nothing.
func (c *child) unmark(o Options) error {
	if o.RunDir == "" {
		return nil
	}
	lock, err := lockDir(o.RunDir)
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := readMark(o.RunDir)
	if err == nil && m != nil && m.Pid == c.cmd.Process.Pid && m.Born == c.born {
		err = os.Remove(filepath.Join(o.RunDir, markFile))
	}
	return errors.Join(err, lock.Close())
}

// readMark returns the mark, nil if there is none. One that cannot be read is an
// error: what it would forbid is not known.
func readMark(dir string) (*mark, error) {
	path := filepath.Join(dir, markFile)
	b, err := facts.ReadTrusted(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := new(mark)
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the mark of the last one cannot be read: %s: %w; next: see that no hpcenv-gpu runs, and remove the file", ErrProgram, path, err)
	}
	return m, nil
}

// alive: the marked child still exists.
func (m *mark) alive() bool {
	boot, err := facts.BootID()
	return err == nil && boot == m.Boot && m.Pid > 0 && m.Born != "" && born(m.Pid) == m.Born
}

// refusal is why no child is started beside the marked one.
func (m *mark) refusal(now time.Time) error {
	since := now.Sub(m.Since).Round(time.Second)
	if !m.Hung {
		return fmt.Errorf("%w: process %d, for %v; next: if it does not end by itself, the driver hangs: drain the node and reboot it", ErrBusy, m.Pid, since)
	}
	in := ""
	if m.Call != "" {
		in = " in " + m.Call
	}
	return fmt.Errorf("%w: process %d of %v ago%s does not end, not even by SIGKILL; no other is started while it exists; next: drain the node and reboot it",
		ErrHung, m.Pid, since, in)
}

// born is the kernel's time of the start of a process, "" if there is none.
func born(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The second field is the program's name in parentheses, of which it may have
	// some itself; the start is field 22.
	at := bytes.LastIndexByte(b, ')')
	if at < 0 {
		return ""
	}
	fields := bytes.Fields(b[at+1:])
	const start = 22 - 3
	if len(fields) <= start {
		return ""
	}
	return string(fields[start])
}

// lockPatience is how long a lock that is held is asked for.
const lockPatience = 250 * time.Millisecond

// lockDir takes the lock of a run directory. It is held for the time that a start
// takes, so that somebody else's is no reason to wait.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; next: run it as root", ErrProgram, err)
	}
	// A process that another goroutine is just starting has the descriptor until it
	// becomes its program: a lock that was given back may be seen held for a moment.
	for end := time.Now().Add(lockPatience); ; time.Sleep(2 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			break
		}
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("%w: it is being started", ErrBusy), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrProgram, err), f.Close())
	}
	return f, nil
}

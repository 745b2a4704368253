package cache

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld is the class of errors about a store that another daemon works on, or that was
// taken from this one. An error of this class is of class ErrStore too.
var ErrHeld = errors.New("another daemon works on the store")

// Holder is who works on a store.
type Holder struct {
	// Host by name, and the identifier of its boot.
	Host string `json:"host"`
	Boot string `json:"boot"`
	// PID on that host, and when the process started, in clock ticks after the boot
	// (proc(5)): a number alone may be another's by now.
	PID   int    `json:"pid"`
	Start string `json:"start"`
	// Since, RFC 3339.
	Since string `json:"since"`
	// Nonce is the hold's own.
	Nonce string `json:"nonce"`
}

func (h *Holder) String() string {
	return fmt.Sprintf("process %d on %s, since %s", h.PID, h.Host, h.Since)
}

// HoldOptions of Store.Hold; zero values are the defaults.
type HoldOptions struct {
	// Every is the time between two signs of life; 0 = 10 s.
	Every time.Duration
	// Expire is how long a holder of another host may be silent before it counts as
	// dead, and how long a hold is good without a sign of life; 0 = 60 s, which is
	// longer than network file systems keep attributes.
	Expire time.Duration
	// Waiting is called once if it has to be seen whether a silent holder is dead.
	Waiting func(Holder)
}

// Hold is the right to work on a store. It ends with Release, with the process, or when
// it is lost; from then on the Store that it was taken for publishes nothing more.
type Hold struct {
	store *Store
	opts  HoldOptions
	self  Holder
	file  *os.File
	beat  int

	mu      sync.Mutex
	good    time.Time // the last sign of life that is known to be in the store
	lost    error
	done    chan struct{}
	ended   chan struct{}
	stop    context.CancelFunc
	waiting sync.WaitGroup
}

// holderFile names the holder, below the store's root.
const holderFile = "holder"

// beatWidth is that of the counter that ends the file.
const beatWidth = 20

// Hold takes the store for this process, so that of two daemons one works on it. It needs
// no locks of the file system: the holder's file is made by link(2), which one of several
// wins on every file system, and its counter, written in place, moves as long as the
// holder lives. A holder of this host whose process is gone, or of an earlier boot of it,
// is replaced at once; one of another host when it was silent for Expire. Otherwise the
// error is of class ErrHeld and says who it is.
//
// Where the hold is lost (another took it after a long silence, the store did not take
// signs of life for Expire) the Store refuses to publish, and Lost is closed.
func (s *Store) Hold(ctx context.Context, opts HoldOptions) (*Hold, error) {
	if opts.Every <= 0 {
		opts.Every = 10 * time.Second
	}
	if opts.Expire <= 0 {
		opts.Expire = 60 * time.Second
	}
	self, err := newHolder()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	h := &Hold{store: s, opts: opts, self: *self, done: make(chan struct{}), ended: make(chan struct{})}
	for {
		won, err := h.claim()
		if err != nil {
			return nil, err
		}
		if won {
			break
		}
		if err := h.displace(ctx); err != nil {
			return nil, err
		}
	}
	h.good = time.Now()
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	s.hold.Store(h)
	h.waiting.Go(func() { h.live(run) })
	return h, nil
}

// newHolder is this process.
func newHolder() (*Holder, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	start, err := startOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	return &Holder{Host: host, Boot: boot, PID: os.Getpid(), Start: start, Since: time.Now().UTC().Format(time.RFC3339), Nonce: rand.Text()}, nil
}

func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data)), err
}

// startOf is field 22 of /proc/PID/stat.
func startOf(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The command's name, in brackets, may hold blanks and brackets.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields[19], nil
}

func (h *Hold) path() string { return filepath.Join(h.store.root, holderFile) }

// text is the file's content at the n-th sign of life. Its length does not change.
func (h *Hold) text(n int) ([]byte, error) {
	data, err := json.Marshal(&h.self)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(data, "\n%*d\n", beatWidth, n), nil
}

// claim gives this process's file the holder's name, unless that is taken.
func (h *Hold) claim() (won bool, err error) {
	text, err := h.text(0)
	if err != nil {
		return false, err
	}
	f, err := os.CreateTemp(h.store.tmp(), "hold-*")
	if err != nil {
		return false, storeError("create a file in", h.store.tmp(), err)
	}
	defer func() {
		err = errors.Join(err, ignore(os.Remove(f.Name()), os.ErrNotExist))
		if !won || err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if _, err := f.Write(text); err != nil {
		return false, storeError("write", f.Name(), err)
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync()); err != nil {
		return false, storeError("write", f.Name(), err)
	}
	if err := h.store.ownFile(f); err != nil {
		return false, err
	}
	err = os.Link(f.Name(), h.path())
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EMLINK) {
		// No hard links here: a rename that replaces nothing serves.
		if err = renameNew(f.Name(), h.path()); errors.Is(err, unix.EEXIST) {
			return false, nil
		}
	}
	if err != nil {
		return false, storeError("make", h.path(), err)
	}
	h.file = f
	return true, syncDir(h.store.root)
}

// read reads who holds the store, its sign of life, and the file's bytes; ErrNotExist:
// nobody. Opening anew makes a network file system ask the server.
func (h *Hold) read() (*Holder, string, error) {
	f, err := os.Open(h.path())
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESTALE) {
		return nil, "", os.ErrNotExist
	}
	if err != nil {
		return nil, "", storeError("open", h.path(), err)
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil, "", storeError("read", h.path(), err)
	}
	line, beat, _ := strings.Cut(string(data), "\n")
	who := new(Holder)
	if err := json.Unmarshal([]byte(line), who); err != nil {
		return &Holder{Host: "(not readable)", Since: "?"}, string(data), nil // a file that a power cut left; it is silent
	}
	return who, beat, nil
}

// displace removes a holder that is dead, or returns why not. Nil: try again.
func (h *Hold) displace(ctx context.Context) error {
	who, beat, err := h.read()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if alive, sure := h.alive(who); sure {
		if alive {
			return h.held(who)
		}
		return h.remove(who.Nonce, beat)
	}
	if h.opts.Waiting != nil {
		h.opts.Waiting(*who)
		h.opts.Waiting = nil
	}
	deadline := time.Now().Add(h.opts.Expire)
	for time.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(h.opts.Every, time.Until(deadline))):
		}
		now, again, err := h.read()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if now.Nonce != who.Nonce || again != beat {
			return h.held(now)
		}
	}
	return h.remove(who.Nonce, beat)
}

// alive tells whether a holder of this host lives; sure is false for others.
func (h *Hold) alive(who *Holder) (alive, sure bool) {
	if who.Host != h.self.Host {
		return false, false
	}
	if who.Boot != h.self.Boot {
		// Names may be given twice (containers, images of hosts): silence decides.
		return false, false
	}
	start, err := startOf(who.PID)
	if errors.Is(err, os.ErrNotExist) {
		return false, true
	}
	return err == nil && start == who.Start, err == nil
}

func (h *Hold) held(who *Holder) error {
	return fmt.Errorf("%w: %w: %s is held by %s\nnext: let that one work (systemctl status hpcenvd there), or stop it first", ErrStore, ErrHeld, h.store.root, who)
}

// remove takes the file of a dead holder away. Another that does the same may have put
// its own there meanwhile: what was moved is looked at, and put back if it is not the
// dead one's.
func (h *Hold) remove(nonce, beat string) error {
	aside := h.store.tmp("hold-dead-" + h.self.Nonce)
	err := os.Rename(h.path(), aside)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return storeError("remove", h.path(), err)
	}
	defer os.Remove(aside) // below tmp/, where it goes with what is old otherwise
	moved := &Hold{store: h.store}
	who, again, err := moved.readAt(aside)
	if err != nil {
		return err
	}
	if who.Nonce == nonce && again == beat {
		return nil
	}
	if err := os.Link(aside, h.path()); err != nil && !errors.Is(err, os.ErrExist) {
		err = renameNew(aside, h.path())
		return storeError("put back", h.path(), ignore(err, unix.EEXIST))
	}
	return nil
}

// readAt is read of the file at path.
func (h *Hold) readAt(path string) (*Holder, string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", storeError("read", path, err)
	}
	line, beat, _ := strings.Cut(string(data), "\n")
	who := new(Holder)
	if err := json.Unmarshal([]byte(line), who); err != nil {
		return &Holder{}, string(data), nil // as in read
	}
	return who, beat, nil
}

// live gives signs of life until Release, or until the hold is lost.
func (h *Hold) live(ctx context.Context) {
	defer close(h.ended)
	tick := time.NewTicker(h.opts.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		start := time.Now() // what is written is no younger
		err := h.sign()
		h.mu.Lock()
		switch {
		case err == nil:
			h.good = start
		case errors.Is(err, ErrHeld), time.Since(h.good) > h.opts.Expire:
			h.lost = err
			close(h.done)
		}
		lost := h.lost
		h.mu.Unlock()
		if lost != nil {
			return
		}
	}
}

// sign writes one sign of life and sees that the name is still this hold's.
func (h *Hold) sign() error {
	same, err := sameFile(h.file, h.path())
	if err != nil {
		return err
	}
	if !same {
		who, _, err := h.read()
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w: somebody removed %s\nnext: restart hpcenvd; it is not to be removed while hpcenvd runs", ErrStore, ErrHeld, h.path())
		}
		if err != nil {
			return err
		}
		return h.held(who)
	}
	text, err := h.text(h.beat + 1)
	if err != nil {
		return err
	}
	if _, err := h.file.WriteAt(text, 0); err != nil {
		return storeError("write", h.path(), err)
	}
	if err := h.file.Sync(); err != nil {
		return storeError("write", h.path(), err)
	}
	h.beat++
	return nil
}

// Holder is who this hold says it is.
func (h *Hold) Holder() Holder { return h.self }

// Lost is closed when the hold is lost; Err then tells why.
func (h *Hold) Lost() <-chan struct{} { return h.done }

// Err is nil as long as the hold is good: nobody else can have taken the store. Errors
// are of class ErrStore.
func (h *Hold) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost != nil {
		return h.lost
	}
	if silent := time.Since(h.good); silent > h.opts.Expire {
		return fmt.Errorf("%w: %s took no sign of life for %s, and another daemon may have taken it over; next: see whether its storage hangs", ErrStore, h.store.root, silent.Round(time.Second))
	}
	return nil
}

// Release gives the store back. What is published after it is refused.
func (h *Hold) Release() error {
	h.stop()
	<-h.ended
	h.mu.Lock()
	lost := h.lost != nil
	if !lost {
		h.lost = fmt.Errorf("%w: the daemon has given %s back", ErrStore, h.store.root)
	}
	h.mu.Unlock()
	var err error
	if !lost {
		var same bool
		if same, err = sameFile(h.file, h.path()); same {
			err = storeError("remove", h.path(), ignore(os.Remove(h.path()), os.ErrNotExist))
		}
	}
	return errors.Join(err, h.file.Close())
}

// mayPublish is nil unless the store was taken by Hold and that hold is good no more.
func (s *Store) mayPublish() error {
	if s.private != nil {
		s = s.private.base
	}
	if h := s.hold.Load(); h != nil {
		return h.Err()
	}
	return nil
}

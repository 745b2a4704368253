package wrapper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/fdmsg"
)

// holdCheck is the time between two looks for other processes; a namespace that nobody
// but its holder was in for two looks ends.
const holdCheck = 2 * time.Second

// keeper is the holder at work: it attaches, in its own namespace, what it is asked for.
type keeper struct {
	mu    sync.Mutex
	roots map[string]*rootState
	done  map[string]bool // prefixes
	asked int             // how often something was asked
	err   error           // why nothing can be attached here
}

// rootState is what was done to a prefix root.
type rootState struct {
	trees   string // what is bound there
	covered bool   // it has a file system of its own, with room for prefixes
}

// hold is the holder: in new namespaces (made by its starter) it serves the connection
// it was started with, and those to the listener, and stays until nobody else is in them.
func hold(socket string) (int, error) {
	first, err := fdmsg.Conn(os.NewFile(3, "first"))
	if err != nil {
		return failed(err)
	}
	k := &keeper{roots: map[string]*rootState{}, done: map[string]bool{}}
	// What is mounted on the host later still appears here; nothing goes back.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		// Where AppArmor guards them, namespaces can be made and are of no use.
		k.err = namespacesRefused(err)
	}
	mine, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return failed(err)
	}
	go k.serve(first)
	if socket != "" {
		f := os.NewFile(4, "listener")
		l, err := net.FileListener(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return failed(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // who cannot connect starts another holder
				}
				go k.serve(c.(*net.UnixConn))
			}
		}()
		defer os.Remove(socket) // else another launch sweeps it away
	}
	for alone, asked := 0, -1; alone < 2; {
		time.Sleep(holdCheck)
		now := k.howOften()
		if now != asked || others(mine) {
			alone, asked = 0, now
		} else {
			alone++
		}
	}
	return api.ExitDone, nil
}

func (k *keeper) howOften() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked
}

// serve answers one connection until it ends.
func (k *keeper) serve(c *net.UnixConn) {
	defer c.Close()
	for {
		var p place
		img, err := fdmsg.Receive(c, &p)
		if err != nil {
			return // it has ended
		}
		err = k.attach(&p, img)
		if img != nil {
			err = errors.Join(err, img.Close())
		}
		if fdmsg.Send(c, replyOf(err), nil) != nil {
			return
		}
	}
}

// attach makes a place appear at its prefix. One after the other: what one covers, the
// next one finds.
func (k *keeper) attach(p *place, img *os.File) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	if k.err != nil || k.done[p.Prefix] {
		return k.err
	}
	if p.Trees == "" && img == nil {
		return errors.New("attaching: no image came along")
	}
	root := filepath.Dir(p.Prefix)
	at := k.roots[root]
	if at == nil {
		if err := makeDir(root); err != nil {
			return err
		}
		at = new(rootState)
		k.roots[root] = at
	}
	if err := at.attach(root, p, img); err != nil {
		return err
	}
	k.done[p.Prefix] = true
	return nil
}

func (at *rootState) attach(root string, p *place, img *os.File) error {
	if p.Trees != "" && !at.covered && (at.trees == "" || at.trees == p.Trees) {
		if at.trees == "" {
			if err := unix.Mount(p.Trees, root, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("mount of %s at %s: %w", p.Trees, root, err)
			}
		}
		at.trees = p.Trees
		return nil
	}
	if !at.covered {
		if err := mirror(root); err != nil {
			return err
		}
		at.covered = true
	}
	err := writable(root, func() error {
		if err := os.Mkdir(p.Prefix, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("prefix %s: %w", p.Prefix, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Trees == "" {
		return serveImage(p, img)
	}
	tree := filepath.Join(p.Trees, filepath.Base(p.Prefix))
	if err := unix.Mount(tree, p.Prefix, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount of %s at %s: %w", tree, p.Prefix, err)
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

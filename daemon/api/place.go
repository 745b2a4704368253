package api

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"

	"github.com/hpcenv/hpcenv/internal/munge"
)

// Place is where a daemon may be: at a socket of this host, or on another host. Its
// strings are as the configuration has them.
type Place struct {
	// Socket is the daemon's on this host; "" = it has none here.
	Socket string
	// Daemon is where it serves other hosts, as host:port; "" = nowhere.
	Daemon string
	// Owner is the account that it runs as, by name or number; needed with Daemon.
	Owner string
	// MungeSocket is munged's; "" = MUNGE's default.
	MungeSocket string
}

// Dial connects to the daemon: over the socket where there is one, else over TCP. Errors
// are *Error.
func (p Place) Dial(ctx context.Context) (*Client, error) {
	if p.Daemon == "" {
		return Dial(p.Socket)
	}
	if p.Socket != "" {
		if _, err := os.Stat(p.Socket); !errors.Is(err, fs.ErrNotExist) {
			return Dial(p.Socket)
		}
	}
	r, err := p.Remote()
	if err != nil {
		return nil, err
	}
	return r.Dial(ctx)
}

// Remote is the daemon as it is reached over TCP. Errors are *Error of ExitUsage: the
// configuration is at fault.
func (p Place) Remote() (*Remote, error) {
	const where = "/etc/hpcenv/hpcenv.conf"
	if p.Owner == "" {
		return nil, Errorf(ExitUsage, "%s: daemon is set and owner is not\nnext: owner = the account that hpcenvd runs as", where)
	}
	uid, err := strconv.Atoi(p.Owner)
	if err != nil {
		u, uerr := user.Lookup(p.Owner)
		if uerr == nil {
			uid, uerr = strconv.Atoi(u.Uid)
		}
		if uerr != nil {
			return nil, Errorf(ExitUsage, "%s: owner: %v\nnext: write the number of the account that hpcenvd runs as", where, uerr)
		}
	}
	return &Remote{Address: p.Daemon, Owner: uid, Munge: munge.Munge{Socket: p.MungeSocket}}, nil
}

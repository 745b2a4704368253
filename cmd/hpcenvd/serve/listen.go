//go:build linux

package serve

import (
	"errors"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/server"
)

// listen is where users of this host ask: the socket that systemd holds (hpcenvd.socket),
// so that requests wait while the daemon is restarted, or one of the daemon's own.
func listen(conf *config.Config) (net.Listener, error) {
	given, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("sockets of systemd: %w", err)
	}
	if len(given) == 0 {
		return server.Listen(conf.Socket)
	}
	if len(given) == 1 && given[0] != nil {
		if at := given[0].Addr(); at.Network() == "unix" && at.String() == conf.Socket {
			return given[0], nil
		}
	}
	for _, l := range given {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return nil, errors.Join(conf.Bad("socket", "systemd gave other sockets than %s; next: write the same path in hpcenvd.socket (ListenStream=) and here", conf.Socket), err)
}

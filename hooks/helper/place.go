package helper

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// place is where the daemon is: at the socket of the plugin's configuration, or, where
// that is not there, where the host's own configuration says that it serves other hosts.
func (s *submission) place() (api.Place, error) {
	p := api.Place{Socket: s.socket}
	if _, err := os.Stat(s.socket); !errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	c, err := clientconf.Read(clientconf.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return p, refuse(api.ExitUsage, "%w; next: tell the administrator", err)
	}
	p.Daemon, p.Owner, p.MungeSocket = c.Daemon, c.Owner, c.MungeSocket
	if s.owner >= 0 {
		p.Owner = strconv.Itoa(s.owner) // as the plugin's configuration has it
	}
	return p, nil
}

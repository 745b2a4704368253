package cli

import (
	"errors"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// conf is where this command finds daemon and store.
func (a *app) conf() (clientconf.Conf, error) {
	c, err := clientconf.Resolve(a.socket, a.store, a.getenv("HPCENV_CONF"), a.getenv)
	if errors.Is(err, clientconf.ErrConf) {
		return c, api.Errorf(api.ExitUsage, "%v\nnext: mend what is named there; HPCENV_STORE or HPCENV_SOCKET, if set, count instead of the file", err)
	}
	return c, err
}

// writer is the service that can prepare: the daemon's, or one in this process
// on a store of the user's own, which is made if need be; not for a dry run.
func (a *app) writer(dry bool) (api.Service, error) {
	c, err := a.conf()
	if err != nil {
		return nil, err
	}
	if c.Socket != "" {
		return api.Dial(c.Socket)
	}
	if dry {
		return service.OpenOwnDry(c.Store)
	}
	return service.OpenOwn(c.Store)
}

// reader is the service that tells what is there. Where the store's path is
// known, it is read directly: that works with the daemon stopped, too.
func (a *app) reader() (api.Service, error) {
	c, err := a.conf()
	if err != nil {
		return nil, err
	}
	if c.Store != "" {
		// A store of one's own that was named and is not made yet has nothing; a
		// cluster's that is not there is not mounted.
		own := c.Own || c.Socket == "" && (a.store != "" || a.getenv("HPCENV_STORE") != "")
		return service.OpenReadOnly(c.Store, own)
	}
	return api.Dial(c.Socket)
}

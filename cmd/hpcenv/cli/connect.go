package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/hpcenv/hpcenv/cache/mirror"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// conf is where this command finds daemon and store.
func (a *app) conf() (clientconf.Conf, error) {
	c, err := clientconf.Resolve(a.socket, a.store, a.getenv("HPCENV_CONF"), a.getenv)
	if errors.Is(err, clientconf.ErrConf) {
		return c, api.Errorf(api.ExitUsage, "%v\nnext: mend what is named there; HPCENV_STORE or HPCENV_SOCKET, if set to an absolute path, count instead of /etc/hpcenv/hpcenv.conf", err)
	}
	return c, err
}

// dial connects to the daemon that is configured.
func dial(c clientconf.Conf) (*api.Client, error) {
	return api.Place{Socket: c.Socket, Daemon: c.Daemon, Owner: c.Owner, MungeSocket: c.MungeSocket}.Dial(context.Background())
}

// writer is the service that can prepare: the daemon's, or one in this process
// on a store of the user's own, which is made if need be; not for a dry run.
func (a *app) writer(dry bool) (api.Service, error) {
	c, err := a.conf()
	if err != nil {
		return nil, err
	}
	own, err := a.own(c)
	if err != nil {
		return nil, err
	}
	if c.HasDaemon() {
		return dial(c)
	}
	if dry {
		return service.OpenOwnDry(c.Store, own)
	}
	return service.OpenOwn(c.Store, own)
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
		own := c.Own || !c.HasDaemon() && (a.store != "" || a.getenv("HPCENV_STORE") != "")
		return service.OpenReadOnly(c.Store, own)
	}
	return dial(c)
}

// own is what a store of the user's own is worked on with.
func (a *app) own(c clientconf.Conf) (service.Own, error) {
	rules, err := a.scriptRules(c)
	if err != nil {
		return service.Own{}, err
	}
	mirrors, err := a.mirrors()
	if err != nil {
		return service.Own{}, err
	}
	delivery, err := a.ownDelivery(c)
	if err != nil {
		return service.Own{}, err
	}
	own := service.Own{Delivery: delivery, Scripts: rules, Mirrors: mirrors, Env: a.getenv}
	if !c.HasDaemon() {
		own.Python, err = a.ownPython()
	}
	return own, err
}

// ownPython are the Pythons that the user lists. A list that cannot be used is wrong
// usage, whatever it is needed for.
func (a *app) ownPython() (*pyenv.Offer, error) {
	offer, err := service.OwnPython(a.getenv("HPCENV_CONF"), a.getenv)
	if err != nil {
		return nil, api.Errorf(api.ExitUsage, "%v\nnext: mend what is named there", err)
	}
	return offer, nil
}

// mirrors are the site's.
func (a *app) mirrors() ([]mirror.Rule, error) {
	found, err := clientconf.Mirrors(a.getenv("HPCENV_CONF"))
	if err != nil {
		return nil, api.Errorf(api.ExitUsage, "%v\nnext: mend what is named there", err)
	}
	var out []mirror.Rule
	for _, m := range found {
		out = append(out, mirror.Rule(m))
	}
	return out, nil
}

// bring lets a daemon's client fetch what needs the user's credentials.
func (a *app) bring(svc api.Service) error {
	client, remote := svc.(*api.Client)
	if !remote {
		return nil
	}
	mirrors, err := a.mirrors()
	if err != nil {
		return err
	}
	client.Bring = service.NewBringer(service.Own{Mirrors: mirrors, Env: a.getenv}).Bring
	return nil
}

// ownDelivery is how environments are published in a store of the user's own: as the
// flag says, or else the variable; "" = as usual, and with a daemon, which goes by the
// administrator's choice.
func (a *app) ownDelivery(c clientconf.Conf) (image.Delivery, error) {
	text, from := a.delivery, "--delivery"
	switch {
	case c.HasDaemon() && text != "":
		return "", api.Errorf(api.ExitUsage, "how the cluster's environments are published is the administrator's to say (delivery of hpcenvd)\nnext: leave out --delivery, or prepare in a store of your own (--store)")
	case c.HasDaemon():
		return "", nil
	case text == "":
		text, from = a.getenv("HPCENV_DELIVERY"), "HPCENV_DELIVERY"
	}
	if text == "" {
		return "", nil
	}
	d, err := image.Parse(text)
	if err != nil {
		return "", api.Errorf(api.ExitUsage, "%s: %v\nnext: name one of these", from, err)
	}
	return d, nil
}

// scriptRules are the packages whose link scripts the user wants run in a store of
// their own: those of the flags, or else of the variable, which makes all commands
// ask for the same. None with a daemon, which goes by the administrator's rules.
func (a *app) scriptRules(c clientconf.Conf) ([]prepare.ScriptRule, error) {
	if c.HasDaemon() {
		if len(a.scripts) > 0 {
			return nil, api.Errorf(api.ExitUsage, "which link scripts run in the cluster's environments is the administrator's to say (scripts.allow of hpcenvd)\nnext: leave out --run-scripts, or prepare in a store of your own (--store)")
		}
		return nil, nil
	}
	text := strings.Join(a.scripts, " ")
	if text == "" {
		text = a.getenv("HPCENV_RUN_SCRIPTS")
	}
	return prepare.ParseScriptRules(text)
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/bundle"
	"github.com/hpcenv/hpcenv/envs/project"
)

// bundlePythons are what a lock that names no Python is bundled with; nil = it needs
// none.
func (a *app) bundlePythons(req *api.PrepareRequest) (*bundle.Pythons, error) {
	if project.OpenPython("", req.Lock) == nil {
		return nil, nil
	}
	offer, platforms, err := a.site()
	if err != nil {
		return nil, err
	}
	return &bundle.Pythons{Offer: offer, Platforms: platforms}, nil
}

// fitPythons makes sure that environments of a lock that names no Python get here what
// they were bundled with. A user who lists no Pythons at all, for a store of their own,
// gets the bundle's list.
func (a *app) fitPythons(b *bundle.Bundle, file string) error {
	if b.Pythons == nil {
		return nil
	}
	offer, platforms, err := a.site()
	if err != nil {
		return err
	}
	c, err := a.conf()
	if err != nil {
		return err
	}
	if _, err := os.Stat(offer.Place); !c.HasDaemon() && errors.Is(err, fs.ErrNotExist) {
		if err := writeNew(offer.Place, b.PythonList); err != nil {
			return err
		}
		a.notes = append(a.notes, "no Pythons were listed here; those of the bundle now are, in "+offer.Place)
		if offer, err = a.ownPython(); err != nil {
			return err
		}
	}
	err = b.Fits(&bundle.Pythons{Offer: offer, Platforms: platforms})
	var other *bundle.PythonError
	if errors.As(err, &other) {
		return fmt.Errorf("%s: %w\nnext: have the bundle's Pythons listed first in %s; `tar -xOf %s hpcenv/interpreters.yaml` prints them", file, err, offer.Place, file)
	}
	return err
}

// writeNew writes a file that is not there, and its directory.
func writeNew(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("the list of Pythons: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("the list of Pythons: %w", err)
	}
	return nil
}

package service

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/cache/mirror"
	"github.com/hpcenv/hpcenv/cache/remote"
	"github.com/hpcenv/hpcenv/daemon/inventory"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// Own is what a user's own store is worked on with.
type Own struct {
	// Scripts are the packages whose link scripts the user wants run.
	Scripts []prepare.ScriptRule
	// Delivery is how environments are published; "" = image.OwnDefault.
	Delivery image.Delivery
	// Python is what the user lists for locks that name no Python; nil = nothing.
	Python *pyenv.Offer
	// Mirrors of the site.
	Mirrors []mirror.Rule
	// Env is the environment in which credentials are looked for; nil = os.Getenv.
	Env func(string) string
}

// OwnPython reads which Pythons a user lists, in the file that clientconf.Interpreters
// finds (conf = path of the client's configuration, "" = the usual one). Without one
// the offer is empty and says where to write it. The error wraps python.ErrInterpreter
// or clientconf.ErrConf.
func OwnPython(conf string, env func(string) string) (*pyenv.Offer, error) {
	file, found, err := clientconf.Interpreters(conf, env)
	if err != nil {
		return nil, err
	}
	if !found {
		return &pyenv.Offer{Place: file}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: the list of interpreters: %w", python.ErrInterpreter, err)
	}
	return pyenv.Parse(file, data)
}

// OpenOwn returns the Service of a user's own store at root, which is made if
// it is not there. It fetches with the user's own credentials.
func OpenOwn(root string, own Own) (*Service, error) {
	return openOwn(root, cache.Create, false, own)
}

// OpenOwnDry is OpenOwn for dry runs: nothing is made or written, and a store
// that is not there is taken for the empty one that OpenOwn would make.
func OpenOwnDry(root string, own Own) (*Service, error) {
	return openOwn(root, cache.Absent, true, own)
}

func openOwn(root string, create func(string, cache.Format) (*cache.Store, error), dry bool, own Own) (*Service, error) {
	store, err := cache.Open(root)
	if errors.Is(err, os.ErrNotExist) {
		format := cache.Format{
			Version: cache.FormatVersion, Platforms: ownPlatforms, OwnerUID: os.Geteuid(),
		}
		// Its trees are the prefixes: said before anything is made.
		for _, platform := range format.Platforms {
			if err := cache.PrefixLimit(filepath.Join(root, "trees", platform, strings.Repeat("0", 32))); err != nil {
				return nil, fmt.Errorf("%w\nnext: name a shorter store, e.g. HPCENV_STORE=/scratch/$USER/hpcenv", err)
			}
		}
		store, err = create(root, format)
	}
	if err != nil {
		return nil, err
	}
	if owner := store.Format().OwnerUID; owner != os.Geteuid() && os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: %s belongs to uid %d, and only that account writes to it\nnext: prepare through its daemon (--socket), or in a store of your own (HPCENV_STORE)",
			cache.ErrStore, root, owner)
	}
	var s *Service
	fetcher := userFetcher(own, func() string { return s.project.Load().(string) })
	s = New(Options{
		Delivery: cmp.Or(own.Delivery, image.OwnDefault),
		Store:    store, Fetcher: fetcher,
		Inventory: &inventory.Keeper{Store: store, HostOnly: true, ReadOnly: dry},
		Embedded:  true,
		Python:    own.Python,
		Scripts:   prepare.Scripts{Allow: own.Scripts},
	})
	return s, nil
}

// userFetcher fetches as a user: any host, any file, with the user's mirrors and
// credentials. Those are read when the first archive is wanted.
func userFetcher(own Own, project func() string) *cache.Fetcher {
	env := own.Env
	if env == nil {
		env = os.Getenv
	}
	return cache.NewFetcher(cache.FetchOptions{
		AllowHost: cache.AllowAny, AllowFile: true, UserAgent: "hpcenv/" + Version(),
		Access: func() (*remote.Access, error) {
			return remote.User(remote.Places{Env: env, Project: project(), Mirrors: own.Mirrors})
		},
	})
}

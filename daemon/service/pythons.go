package service

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
)

// ownPlatforms are those that a user's own store is made for.
var ownPlatforms = []string{"linux-64", "linux-aarch64"}

// OwnPlatforms are the platforms that a user's own store at root has environments
// for, or would have once it is made.
func OwnPlatforms(root string) ([]string, error) {
	store, err := cache.Open(root)
	if errors.Is(err, fs.ErrNotExist) {
		return slices.Clone(ownPlatforms), nil
	}
	if err != nil {
		return nil, err
	}
	return store.Format().Platforms, nil
}

// told is an interpreter as a status tells it.
func told(i python.Interpreter) api.Interpreter {
	out := api.Interpreter{Version: i.Version, Platform: i.Platform, Kind: string(i.Kind), FreeThreaded: i.FreeThreaded, URL: i.URL, SHA256: i.SHA256}
	for _, a := range i.With {
		out.With = append(out.With, api.FileToFetch(a))
	}
	return out
}

// Offered is what a status says of interpreters.
func Offered(st *api.Status) *pyenv.Offer {
	o := &pyenv.Offer{Glibc: st.Glibc, Place: "hpcenvd.yaml of the daemon's host"}
	for _, i := range st.Interpreters {
		x := python.Interpreter{Version: i.Version, Platform: i.Platform, Kind: python.InterpreterKind(i.Kind), FreeThreaded: i.FreeThreaded, URL: i.URL, SHA256: i.SHA256}
		for _, a := range i.With {
			x.With = append(x.With, python.Archive(a))
		}
		o.Interpreters = append(o.Interpreters, x)
	}
	return o
}

package helper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// errNotMounted: an environment is there as an image, which nobody has mounted.
var errNotMounted = errors.New("is in the store as an image, which is not mounted")

// activateShell gives salloc's own shell the environment, if this host has it.
func (s *submission) activateShell(ctx context.Context, p *pin.Pin, st *submitStore, out *records) {
	mine, pl, settings, err := s.shellPlace(ctx, p, st)
	if err == nil {
		var site []activation.Op
		site, _, err = siteBuilds(ctx, mine, pl.files, pl.prefix, filepath.Join(DefaultRunDir, facts.RecordFile))
		if err != nil {
			fmt.Fprintf(s.stderr, "salloc: hpcenv: %v\n", err) // what else the shell gets does not hang on it
		}
		var result activation.Result
		result, err = activation.Activate(ctx, activation.Input{
			Env: os.Environ(), ID: mine.ID, Platform: hostPlatform(), Prefix: pl.prefix, EnvName: mine.Environment,
			Static: pl.meta.Activation, Manifest: pl.manifest, ActDigest: mine.Activation, Overlay: mine.OverlayDir(hostPlatform()), Settings: settings, Site: site, Scripts: activation.Options{Stderr: s.stderr},
		})
		if err == nil {
			for _, note := range result.Notes {
				fmt.Fprintf(s.stderr, "salloc: hpcenv: %s\n", note)
			}
			out.patch(result.Patch)
			return
		}
	}
	// The allocation is still worth having: its steps have the environment.
	if errors.Is(err, errNotMounted) { // as it is where environments are images
		fmt.Fprintln(s.stderr, "salloc: hpcenv: this shell itself does not get the environment, the job's steps do; next: hpcenv run -- COMMAND, or hpcenv shell, has it here")
		return
	}
	fmt.Fprintf(s.stderr, "salloc: hpcenv: this shell itself does not get the environment, the job's steps do: %v\n", err)
}

// shellPlace is what the shell gets: what a node like this host would, or else what most
// nodes of the job get. The host is none of them, and need not be like any: mpirun and
// what prepares a run are started in such a shell, and are in any environment.
func (s *submission) shellPlace(ctx context.Context, p *pin.Pin, st *submitStore) (*pin.Pin, *place, map[string]string, error) {
	own := *p
	own.Others = append([]pin.Choice(nil), p.Others...)
	if on, err := decide(ctx, &own, st.root, filepath.Join(DefaultRunDir, facts.RecordFile), os.LookupEnv); err == nil {
		if pl, err := locate(&own, st.root, s.prefixRoot); err == nil {
			return &own, pl, on.settings, nil
		}
	}
	pl, err := locate(p, st.root, s.prefixRoot)
	return p, pl, nil, err
}

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/handover"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/internal/plain"
)

func (a *app) pinCmd() *cobra.Command {
	var environments []string
	remove, note := false, ""
	cmd := &cobra.Command{
		Use:   "pin [NAME [LOCK]]",
		Short: "Give prepared environments a name that keeps them",
		Long: `Give what is prepared of a lock a name, e.g. climate/2026.11: it is kept as long as it has
one, and users submit with it, without the lock's file: sbatch --env-lock=@climate/2026.11.
What had the name before has it no more. Without -e all environments of the lock that are
prepared get it. With --remove the name goes; without NAME all names are listed, which
anybody may ask.`,
		Args: usageArgs(cobra.RangeArgs(0, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listNames()
			}
			if err := handover.CheckName(args[0]); err != nil {
				return api.Errorf(api.ExitUsage, "%v", err)
			}
			c, err := a.daemon()
			if err != nil {
				return err
			}
			if remove {
				if err := c.DeleteName(cmd.Context(), args[0]); err != nil {
					return err
				}
				fmt.Fprintf(a.stderr, "removed @%s\n", args[0])
				return nil
			}
			lock := ""
			if len(args) > 1 {
				lock = args[1]
			}
			put, err := a.putName(lock, environments, note)
			if err != nil {
				return err
			}
			if err := c.PutName(cmd.Context(), args[0], put); err != nil {
				return err
			}
			fmt.Fprintf(a.stderr, "@%s is %s (%.8s)\nnext: sbatch --env-lock=@%s job.sh\n", args[0], put.LockPath, put.Lock, args[0])
			return nil
		},
	}
	cmd.Flags().StringSliceVarP(&environments, "environment", "e", nil, "only this `ENVIRONMENT` (several with commas)")
	cmd.Flags().BoolVar(&remove, "remove", false, "take the name away")
	cmd.Flags().StringVar(&note, "note", "", "what it is for")
	return a.jsonFlag(cmd)
}

// putName is what the daemon has to know of a lock, whose bytes the store has.
func (a *app) putName(lock string, environments []string, note string) (*api.PutName, error) {
	req, err := a.request(lock, environments, len(environments) == 0)
	if err != nil {
		return nil, err
	}
	put := &api.PutName{Lock: digestOf(req.Lock), LockPath: req.LockPath, Environments: environments, Activations: map[string]string{}, Note: note}
	if project.OpenPython(req.LockPath, req.Lock) != nil {
		put.Wish = true
		if len(environments) > 0 {
			put.Environments = req.Environments // as they are completed
		}
		return put, nil
	}
	for env, data := range req.Activations {
		put.Activations[env] = digestOf(data)
	}
	d, err := planning.Remembered(req.Lock, put.Lock, a.project, planning.Memory())
	if err != nil {
		return nil, err
	}
	_, put.Description, err = d.Encode()
	return put, err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// listNames reads the names of the store, as submissions do.
func (a *app) listNames() error {
	c, err := a.conf()
	if err != nil {
		return err
	}
	if c.Store == "" {
		return api.Errorf(api.ExitUsage, "names lie in the store, and where it is is not known here\nnext: name it with --store, HPCENV_STORE, or `store = PATH` in /etc/hpcenv/hpcenv.conf")
	}
	names := []*handover.Name{}
	root := filepath.Join(c.Store, "names")
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, is := strings.CutSuffix(path[len(root)+1:], handover.NameSuffix)
		if !is {
			return nil
		}
		n, err := handover.ReadName(c.Store, name)
		if err == nil {
			names = append(names, n)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // removed meanwhile
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return api.Errorf(api.ExitUnreachable, "names: %v", err)
	}
	if a.json {
		return a.printJSON(names)
	}
	if len(names) == 0 {
		fmt.Fprintln(a.stdout, "there are no names")
		return nil
	}
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tENVIRONMENTS\tLOCK\tSINCE\tNOTE")
	for _, n := range names {
		fmt.Fprintf(w, "@%s\t%s\t%.8s\t%s\t%s\n", n.Name, strings.Join(slices.Sorted(maps.Keys(n.Environments)), ", "), n.Lock, created(n.At.Format("2006-01-02T15:04:05Z07:00")), n.Note)
	}
	return w.Flush()
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/internal/plain"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

func (a *app) listCmd() *cobra.Command {
	var lock, release string
	mine := false
	cmd := &cobra.Command{
		Use:   "list [PATH]",
		Short: "List the environments that are prepared, newest first",
		Long: `List the environments that are prepared, newest first: all that are in the store,
or with PATH (a lock or a directory with one) those of that lock. In a project,
"hpcenv list ." lists its own.

With --mine those that you asked for, which count for your budget where the site has one,
and what it is. --release ID gives one up: it counts for you no more until you ask for it
again, and may be removed if nobody else needs it.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if mine || release != "" {
				if len(args) > 0 || lock != "" {
					return api.Errorf(api.ExitUsage, "--mine and --release are about all that you asked for, not about a lock\nnext: leave out the path")
				}
				return a.mine(cmd.Context(), release)
			}
			path, err := onePath(args, lock)
			if err != nil {
				return err
			}
			svc, err := a.reader()
			if err != nil {
				return err
			}
			envs, err := svc.List(cmd.Context())
			if err != nil {
				return err
			}
			if path != "" {
				if envs, err = a.listed(cmd.Context(), svc, envs, path); err != nil {
					return err
				}
			}
			if a.json {
				if envs == nil {
					envs = []api.Environment{}
				}
				return a.printJSON(envs)
			}
			return a.listTable(envs, path)
		},
	}
	cmd.Flags().StringVar(&lock, "lock", "", "the same as PATH")
	cmd.Flags().BoolVar(&mine, "mine", false, "those that you asked for, and your budget")
	cmd.Flags().StringVar(&release, "release", "", "give up the environment `ID` that you asked for")
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON array")
	return cmd
}

// onePath is the path of a lock, given as an argument or with --lock.
func onePath(args []string, lock string) (string, error) {
	switch {
	case len(args) == 0:
		return lock, nil
	case lock != "":
		return "", api.Errorf(api.ExitUsage, "both %q and --lock %q name a lock\nnext: leave one of them out", args[0], lock)
	}
	return args[0], nil
}

// listed leaves those of envs that belong to the lock at path, under the lock's
// names for them: another lock may have made them. Where the store can be read, what
// it has noted of the lock counts, however its environments were asked for; which
// options this host would choose does not matter.
func (a *app) listed(ctx context.Context, svc api.Service, envs []api.Environment, path string) ([]api.Environment, error) {
	a.frozen = true // what is there is told of any lock
	req, err := a.request(path, nil, false)
	if err != nil {
		return nil, err
	}
	if len(envs) == 0 {
		return nil, nil
	}
	digest := lockDigest(req.Lock)
	noted, err := a.noted(digest)
	if err != nil {
		return nil, err
	}
	if noted == nil {
		if noted, err = environmentsOf(ctx, svc, req); err != nil {
			return nil, aboutLock(err, req.LockPath)
		}
	}
	var out []api.Environment
	for _, have := range envs {
		before := len(out)
		for _, e := range noted {
			if e.ID == have.ID && (e.Platform == have.Platform || e.Platform == "") {
				have.Name, have.LockDigest = e.Name, digest
				out = append(out, have)
			}
		}
		if len(out) == before && have.LockDigest == digest { // made with other options
			out = append(out, have)
		}
	}
	return out, nil
}

// noted is what the store knows of a lock: names and ids, for all platforms. Nil:
// nothing, or this command cannot see the store.
func (a *app) noted(digest string) ([]api.Environment, error) {
	c, err := a.conf()
	if err != nil || c.Store == "" {
		return nil, err
	}
	whole := prepared.Store{Root: c.Store}
	parts, err := whole.Parts()
	if err != nil {
		return nil, api.Errorf(api.ExitUnreachable, "store %s: %v\nnext: is it mounted on this host?", c.Store, err)
	}
	var out []api.Environment
	for _, part := range append([]prepared.Store{whole}, parts...) {
		of, err := part.Environments(digest)
		if part.Group != "" && errors.Is(err, fs.ErrPermission) {
			continue // the storage knows less of this user's groups
		}
		if err != nil {
			return nil, api.Errorf(api.ExitUnreachable, "store %s: what it notes of the lock: %v\nnext: hpcenv prepare", part.Root, err)
		}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if !slices.ContainsFunc(out, func(e api.Environment) bool { return e.Name == name && e.ID == of[name].ID }) {
				out = append(out, api.Environment{Name: name, ID: of[name].ID})
			}
		}
	}
	return out, nil
}

// environmentsOf tells the ids of a lock's environments. One that cannot be made
// does not hide the others.
func environmentsOf(ctx context.Context, svc api.Service, req *api.PrepareRequest) ([]api.Environment, error) {
	ask := *req
	ask.Activations, ask.DryRun = nil, true
	ask.All = project.OpenPython("", req.Lock) == nil // such a lock has no list of its environments
	res, err := svc.Prepare(ctx, &ask, nil)
	if err == nil {
		return res.Environments, nil
	}
	lock, perr := lockfile.Parse(req.Lock)
	if perr != nil {
		return nil, err
	}
	var out []api.Environment
	for _, env := range lock.Environments {
		ask.All, ask.Environments = false, []string{env.Name}
		if res, oerr := svc.Prepare(ctx, &ask, nil); oerr == nil {
			out = append(out, res.Environments...)
		}
	}
	if len(out) == 0 {
		return nil, err
	}
	return out, nil
}

func (a *app) listTable(envs []api.Environment, path string) error {
	if len(envs) == 0 && path != "" {
		_, err := fmt.Fprintf(a.stderr, "nothing of this lock is prepared yet\nnext: hpcenv prepare %s\n", shellword.Quote(path))
		return err
	}
	if len(envs) == 0 {
		_, err := fmt.Fprintln(a.stderr, "no environment is prepared yet\nnext: hpcenv prepare")
		return err
	}
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	groups := slices.ContainsFunc(envs, func(e api.Environment) bool { return e.Group != nil })
	title := "ID\tENVIRONMENT\tPLATFORM\tPACKAGES\tFILES\tSIZE\tDELIVERY\tCREATED\tLOCK"
	if groups {
		title += "\tONLY FOR"
	}
	fmt.Fprintln(w, title)
	for _, e := range envs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s", short(e.ID), e.Name, e.Platform, e.Packages,
			countText(e.Files), bytesText(e.Bytes), deliveryText(e), created(e.Created), short(e.LockDigest))
		if groups {
			fmt.Fprint(w, "\t", groupText(e.Group))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// deliveryText tells in which forms an environment is published.
func deliveryText(e api.Environment) string {
	if e.ImageBytes == 0 {
		return strings.Join(e.Deliveries, ", ")
	}
	return strings.Join(e.Deliveries, ", ") + " " + bytesText(e.ImageBytes)
}

// groupText is the only group that may read an environment, by name where that is
// known.
func groupText(gid *int) string {
	if gid == nil {
		return ""
	}
	number := strconv.Itoa(*gid)
	if g, err := user.LookupGroupId(number); err == nil {
		return "group " + g.Name
	}
	return "group " + number
}

// created prints an RFC 3339 time in the reader's zone.
func created(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// printJSON prints v as one indented JSON value on stdout.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

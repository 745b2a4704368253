package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// choice is what of a uv.lock or pylock.toml is wanted, said with flags.
type choice struct {
	extras, groups []string
	noDev          bool
	member, python string
}

func (c *choice) add(fl *pflag.FlagSet) {
	fl.StringSliceVar(&c.extras, "extra", nil, "uv.lock, pylock.toml: with this extra (repeatable, or names with commas)")
	fl.StringSliceVar(&c.groups, "group", nil, "uv.lock, pylock.toml: with this dependency group, beside the default ones (repeatable, or names with commas)")
	fl.BoolVar(&c.noDev, "no-dev", false, "uv.lock, pylock.toml: without the dependency group dev")
	fl.StringVar(&c.member, "package", "", "uv.lock: of this member of the workspace")
	fl.StringVar(&c.python, "python", "", "uv.lock, pylock.toml: with this Python, e.g. 3.12 (default: as .python-version says, else the newest that fits)")
}

func (c *choice) given() bool {
	return len(c.extras)+len(c.groups) > 0 || c.noDev || c.member != "" || c.python != ""
}

// wish is what the flags say.
func (c *choice) wish() (python.Wish, error) {
	w := python.Wish{Selection: python.Selection{Package: c.member, Extras: c.extras, Groups: c.groups, NoDev: c.noDev}}
	var err error
	if c.python != "" {
		w.Python, err = python.ParseRequest(c.python)
	}
	return w, err
}

// wishes puts into the request the names of environments that texts of wishes, or
// the flags, stand for; false if the lock has environments of its own.
func (a *app) wishes(req *api.PrepareRequest, texts []string, all bool) (bool, error) {
	lock := project.OpenPython(req.LockPath, req.Lock)
	if lock == nil {
		if a.choice.given() {
			format, err := lockfile.Detect(req.Lock)
			if err != nil {
				return false, err
			}
			return false, api.Errorf(api.ExitUsage, "--extra, --group, --no-dev, --package and --python choose from a uv.lock or pylock.toml; %s is a %s, whose environments have names\nnext: -e NAME; hpcenv inspect %s lists them",
				req.LockPath, format, req.LockPath)
		}
		return false, nil
	}
	var err error
	if !a.choice.given() {
		req.Environments, err = lock.Names(texts, all)
		return true, aboutPython(err, req.LockPath)
	}
	if len(texts) > 0 || all {
		return true, api.Errorf(api.ExitUsage, "-e and --all say all that is wanted; --extra, --group, --no-dev, --package and --python do not go with them\nnext: put it into one word, e.g. -e python=3.12,extra=gpu,group=test")
	}
	wish, err := a.choice.wish()
	if err != nil {
		return true, err
	}
	name, err := lock.Name(wish)
	req.Environments = []string{name}
	return true, aboutPython(err, req.LockPath)
}

// noteMember tells who stands in a member of a workspace, where uv would take that
// member, that what lies beside the lock is taken.
func (a *app) noteMember(req *api.PrepareRequest) {
	lock := project.OpenPython(req.LockPath, req.Lock)
	dir, err := os.Getwd()
	if err != nil {
		return // then nobody stands anywhere
	}
	if member := lock.MemberAt(dir); member != "" {
		fmt.Fprintf(a.stderr, "note: taken is the environment of what lies beside the lock; that of the member here: --package %s\n", member)
	}
}

func aboutPython(err error, lock string) error {
	if err == nil {
		return nil
	}
	return aboutLock(err, lock)
}

// splitNames takes names with commas between them apart.
func splitNames(texts []string) []string {
	var names []string
	for _, t := range texts {
		for _, n := range strings.Split(t, ",") {
			if n = strings.TrimSpace(n); n != "" {
				names = append(names, n)
			}
		}
	}
	return names
}

// pythons is the digest of what this command offers to locks that name no Python;
// "" with a daemon, which offers what it has.
func (a *app) pythons(c clientconf.Conf, lock []byte) (string, error) {
	if c.HasDaemon() || project.OpenPython("", lock) == nil {
		return "", nil
	}
	offer, err := a.ownPython()
	if err != nil {
		return "", err
	}
	if len(offer.Interpreters) == 0 {
		return "", nil // a cluster's store may be read without its daemon
	}
	return offer.Digest(), nil
}

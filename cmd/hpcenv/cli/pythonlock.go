package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
)

// described are the platforms for which a lock is looked at.
var described = []string{"linux-64", "linux-aarch64"}

// pythonLock makes the environments of a lock that names none, to be looked at: those
// of texts or of the flags; none = all, and one that cannot be made does not hide the
// others. Nil and no error: the lock names its environments.
func (a *app) pythonLock(path string, data []byte, texts []string) (*lockfile.Lock, error) {
	req := &api.PrepareRequest{Lock: data, LockPath: path}
	all := len(texts) == 0 && !a.choice.given()
	if is, err := a.wishes(req, texts, all); !is || err != nil {
		return nil, err
	}
	source, err := project.OpenPython(path, data).Source()
	if err != nil {
		return nil, err
	}
	offers := a.lookedAtWith()
	var lock *lockfile.Lock
	var first error
	var notes lackNotes
	for _, name := range req.Environments {
		wish, err := python.ParseWish(name)
		var made *pyenv.Made
		if err == nil {
			made, err = pyenv.Any(source, wish, described, offers)
		}
		if err != nil && !all {
			return nil, err
		}
		if err != nil {
			if first == nil {
				first = err
			}
			fmt.Fprintf(a.stderr, "note: %s cannot be made: %v\n", name, service.Classify(err).Message)
			continue
		}
		for _, subdir := range described {
			notes.add(name, subdir, made.Lacking[subdir])
		}
		if lock == nil {
			lock = made.Lock
			continue
		}
		lock.Environments = append(lock.Environments, made.Lock.Environments...)
	}
	if lock == nil {
		return nil, first
	}
	notes.print(a.stderr)
	return lock, nil
}

// lackNotes say of environments which platforms they lack, once for all that lack
// one for the same reason.
type lackNotes []struct {
	environments []string
	subdir, why  string
}

func (n *lackNotes) add(environment, subdir, why string) {
	if why == "" {
		return
	}
	for i := range *n {
		if note := &(*n)[i]; note.subdir == subdir && note.why == why {
			note.environments = append(note.environments, environment)
			return
		}
	}
	*n = append(*n, struct {
		environments []string
		subdir, why  string
	}{[]string{environment}, subdir, why})
}

func (n lackNotes) print(w io.Writer) {
	for _, note := range n {
		fmt.Fprintf(w, "note: not for %s: %s: %s\n", note.subdir, strings.Join(note.environments, ", "), note.why)
	}
}

// lookedAtWith are the Pythons that a lock is looked at with: those that prepare
// would choose from or, where they are not known here, each minor version there is,
// the newest first.
func (a *app) lookedAtWith() []*pyenv.Offer {
	offer, _, err := a.site()
	if err == nil && len(offer.Interpreters) > 0 {
		return []*pyenv.Offer{offer}
	}
	why := "no Python is listed here"
	if err != nil {
		why = "the Pythons of the site cannot be told: " + err.Error()
	}
	fmt.Fprintf(a.stderr, "note: %s; shown is what the newest would get that the lock has packages for\n", why)
	return pyenv.Unlisted(described)
}

// site is which Pythons a lock may get here, and for which platforms environments are
// made.
func (a *app) site() (*pyenv.Offer, []string, error) {
	c, err := a.conf()
	if err != nil {
		return nil, nil, err
	}
	if !c.HasDaemon() {
		offer, err := a.ownPython()
		if err != nil {
			return nil, nil, err
		}
		platforms, err := service.OwnPlatforms(c.Store)
		return offer, platforms, err
	}
	client, err := dial(c)
	if err != nil {
		return nil, nil, err
	}
	st, err := client.Status(context.Background())
	if err != nil {
		return nil, nil, err
	}
	platforms := st.Serves
	if len(platforms) == 0 {
		platforms = described // an older daemon does not tell
	}
	return service.Offered(st), platforms, nil
}

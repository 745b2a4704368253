package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/budget"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/bundle"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/satisfy"
	"github.com/hpcenv/hpcenv/envs/task"
)

// Classify gives any error of this program its exit code and a next step, on a
// line of its own at the end. It is the one place that knows which class has
// which; an error of no class is a failure.
func Classify(err error) *api.Error {
	out := &api.Error{Code: code(err)}
	var coded *api.Error
	if errors.As(err, &coded) {
		out.Code, out.AboutLock = coded.Code, coded.AboutLock
		if coded.Message == "" {
			return coded // all was said
		}
	} else {
		out.AboutLock = errors.Is(err, lockfile.ErrLock) || errors.Is(err, prepare.ErrNoPlatform) ||
			errors.Is(err, python.ErrSelection) || errors.Is(err, python.ErrInterpreter)
	}
	body, steps := split(err.Error())
	if len(steps) == 0 {
		steps = []string{next(err, out.Code)}
	}
	out.Message = body + "\nnext: " + strings.Join(steps, "\nnext: ")
	return out
}

// split takes the next steps out of a message: they stand on lines of their own,
// or at the end of a line where one error lies within another. Each counts once.
func split(msg string) (body string, steps []string) {
	var lines []string
	for line := range strings.SplitSeq(msg, "\n") {
		rest, alone := strings.CutPrefix(line, "next: ")
		parts := strings.Split(rest, "; next: ")
		if !alone {
			lines, parts = append(lines, parts[0]), parts[1:]
		}
		for _, step := range parts {
			if !slices.Contains(steps, step) {
				steps = append(steps, step)
			}
		}
	}
	return strings.Join(lines, "\n"), steps
}

// next is what to do about an error that does not say it itself.
func next(err error, code int) string {
	var unknown *lockfile.UnknownEnvironmentError
	var problems *lockfile.ProblemsError
	var listed *prepare.PythonError
	switch {
	case errors.As(err, &unknown):
		return "name one that is there with -e, or run " + relock(err) + " if the manifest has it"
	case errors.As(err, &problems):
		return "take these entries out of the environment and run " + relock(err) + ", or name another environment with -e"
	case errors.Is(err, python.ErrSelection):
		return "ask for what is there: -e default, -e extra=NAME, -e group=NAME (several with commas)"
	case errors.Is(err, python.ErrInterpreter):
		return "mend that entry of `interpreters:`"
	case errors.Is(err, bundle.ErrBundle):
		return "copy the bundle again, or make it anew"
	case errors.Is(err, lockfile.ErrLock):
		return relock(err) + " in the project writes the file anew"
	case errors.Is(err, linkscript.ErrCannotRun):
		return "install bubblewrap where scripts and site builds run (this host, or the nodes of build jobs) and allow user name spaces there; or take out the entry that asks for it (scripts.allow, site_builds)"
	case errors.Is(err, materialize.ErrScript):
		return "take the package out of the scripts that are allowed, or let failed scripts degrade the environment (scripts.on_failure)"
	case errors.Is(err, image.ErrRoom):
		return "make room there, then the same command again: what was fetched is kept"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return "free space, inodes or quota there, then the same command again: what was fetched is kept"
	case errors.As(err, &listed) && errors.Is(err, cache.ErrIntegrity):
		return mendEntry
	case errors.Is(err, cache.ErrFetch):
		return nextFetch(err)
	case errors.Is(err, cache.ErrIntegrity):
		return "if the channel replaced the archive, run " + relock(err) + " in the project; if not, somebody altered it on the way"
	case errors.Is(err, activation.ErrScript):
		return "mend that script, or take it out of the manifest's [activation]"
	case errors.Is(err, activation.ErrShell):
		return "name one of these with --shell"
	case errors.Is(err, activation.ErrUndo):
		return "the same command in a fresh shell"
	case errors.Is(err, project.ErrManifest):
		return "mend the manifest there, then lock the project anew (`pixi lock`, `uv lock`)"
	case errors.Is(err, budget.ErrBudget):
		return "ask an administrator of hpcenv for more"
	case errors.Is(err, materialize.ErrPrefix):
		return "a shorter place: the prefix root of the cluster's store, or the path of a store of your own (HPCENV_STORE)"
	case errors.Is(err, materialize.ErrUnlinkable):
		return relock(err) + " in the project may choose other packages; if not, tell the maintainers of that package"
	case errors.Is(err, fs.ErrPermission) && !errors.Is(err, cache.ErrStore):
		return "check the owner and the permissions of that path"
	}
	switch code {
	case api.ExitUsage:
		return "the same command with --help tells what can be asked for"
	case api.ExitUnreachable:
		return "check the store's path, that it is mounted here, and that this account may write to it"
	}
	return "the same command again; if it fails the same way, show this message to the administrator"
}

// fetchError is an error of class cache.ErrFetch with the host that fetched.
type fetchError struct {
	err error
	// from is "this host" or the daemon's, by name.
	from string
}

func (e *fetchError) Error() string { return e.err.Error() }
func (e *fetchError) Unwrap() error { return e.err }

// lockedError is an error of a request with the command that locks its project.
type lockedError struct {
	err     error
	command string
}

func (e *lockedError) Error() string { return e.err.Error() }
func (e *lockedError) Unwrap() error { return e.err }

// OfLock adds to an error how the project of the lock is locked anew, where that is
// not with pixi.
func OfLock(err error, lock []byte) error {
	format, ferr := lockfile.Detect(lock)
	if err == nil || ferr != nil || format == lockfile.FormatPixi {
		return err
	}
	return &lockedError{err, format.Relock()}
}

// relock is the command that locks the project anew.
func relock(err error) string {
	var of *lockedError
	if errors.As(err, &of) {
		return of.command
	}
	return lockfile.FormatPixi.Relock()
}

// mendEntry is what to do about a Python that the site lists.
const mendEntry = "correct the URL or the sha256 in its entry of `interpreters:` (of the daemon's configuration, or of your own)"

// nextFetch is what to do where a package was not delivered.
func nextFetch(err error) string {
	from := "this host"
	var f *fetchError
	if errors.As(err, &f) {
		from = f.from
	}
	const again = ", then the same command again: what was fetched is kept"
	var refused *cache.HostRefusedError
	var status *cache.StatusError
	var listed *prepare.PythonError
	switch {
	case errors.Is(err, cache.ErrOffline):
		return "the same command without --offline, on a host that reaches the channels"
	case errors.As(err, &refused):
		return fmt.Sprintf("if it is meant, the administrator adds %s to fetch.allow in /etc/hpcenv/hpcenvd.yaml and restarts hpcenvd", refused.Host)
	case errors.As(err, &listed) && (errors.As(err, &status) && status.Gone() || errors.Is(err, fs.ErrNotExist)):
		return mendEntry
	case errors.As(err, &status) && status.Gone():
		return relock(err) + " in the project takes what the channel has now"
	case errors.As(err, &status) && status.Unauthorized():
		return "check that the channel is open to " + from + "; if it wants a credential, keep that where pixi and uv look for it (`pixi auth login HOST`, ~/.netrc)" + again
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "put a readable file there, or run " + relock(err) + " in its project"
	}
	return "check the URL and that its host answers to " + from + " (proxy, firewall)" + again
}

func code(err error) int {
	var unknown *lockfile.UnknownEnvironmentError
	var missing *lockfile.MissingPlatformError
	switch {
	case errors.As(err, &unknown), errors.Is(err, python.ErrSelection), errors.Is(err, prepare.ErrRequest), errors.Is(err, project.ErrNoLock), errors.Is(err, satisfy.ErrStale), errors.Is(err, task.ErrTask):
		return api.ExitUsage
	case errors.As(err, &missing), errors.Is(err, prepare.ErrNoPlatform), errors.Is(err, python.ErrInterpreter):
		return api.ExitNoFit
	case errors.Is(err, context.DeadlineExceeded):
		return api.ExitLate
	case errors.Is(err, cache.ErrStore), errors.Is(err, image.ErrRoom):
		return api.ExitUnreachable
	}
	return api.ExitFailed
}

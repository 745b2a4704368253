package service

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/project"
)

// Classify gives any error of this program its exit code. It is the one place
// that knows which class has which; an error of no class is a failure.
func Classify(err error) *api.Error {
	var coded *api.Error
	if errors.As(err, &coded) {
		if coded.Message == err.Error() {
			return coded
		}
		return &api.Error{Code: coded.Code, Message: err.Error()}
	}
	msg := err.Error()
	if next := next(err); next != "" && !strings.Contains(msg, "next: ") {
		msg += "\nnext: " + next
	}
	return &api.Error{Code: code(err), Message: msg}
}

// next is what to do about a class of errors whose own message does not say.
func next(err error) string {
	var unknown *lockfile.UnknownEnvironmentError
	var problems *lockfile.ProblemsError
	switch {
	case errors.As(err, &unknown):
		return "name one that is there with -e, or run `pixi lock` if the manifest has it"
	case errors.As(err, &problems):
		return "take these entries out of the environment and run `pixi lock`, or name another environment with -e"
	case errors.Is(err, lockfile.ErrLock):
		return "`pixi lock` in the project writes the file anew"
	case errors.Is(err, linkscript.ErrCannotRun):
		return "install bubblewrap where the environment is made and allow user name spaces there, or take the package out of the scripts that are allowed"
	case errors.Is(err, materialize.ErrScript):
		return "take the package out of the scripts that are allowed, or let failed scripts degrade the environment (scripts.on_failure)"
	case errors.Is(err, prepare.ErrRequest):
		return "the same command with --help tells what can be asked for"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return "free space, inodes or quota there, then the same command again: what was fetched is kept"
	case errors.Is(err, cache.ErrFetch):
		return "check the URL and that its host answers from here, then the same command again: what was fetched is kept"
	case errors.Is(err, cache.ErrIntegrity):
		return "if the channel replaced the archive, run `pixi lock` in the project; if not, somebody altered it on the way"
	case errors.Is(err, cache.ErrStore):
		return "check the store's path, that it is mounted here, and that this account may write to it"
	}
	return ""
}

func code(err error) int {
	var unknown *lockfile.UnknownEnvironmentError
	var missing *lockfile.MissingPlatformError
	switch {
	case errors.As(err, &unknown), errors.Is(err, prepare.ErrRequest), errors.Is(err, project.ErrNoLock):
		return api.ExitUsage
	case errors.As(err, &missing), errors.Is(err, prepare.ErrNoPlatform):
		return api.ExitNoFit
	case errors.Is(err, context.DeadlineExceeded):
		return api.ExitLate
	case errors.Is(err, cache.ErrStore):
		return api.ExitUnreachable
	}
	return api.ExitFailed
}

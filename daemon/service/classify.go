package service

import (
	"context"
	"errors"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/prepare"
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
	return &api.Error{Code: code(err), Message: err.Error()}
}

func code(err error) int {
	var unknown *lockfile.UnknownEnvironmentError
	var missing *lockfile.MissingPlatformError
	switch {
	case errors.As(err, &unknown), errors.Is(err, prepare.ErrRequest):
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

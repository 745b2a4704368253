package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/project"
)

func TestEveryClassHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		next string
	}{
		{errors.New("x"), api.ExitFailed, ""},
		{lockfile.ErrLock, api.ExitFailed, "next: `pixi lock`"},
		{&lockfile.ProblemsError{Problems: []string{"p"}}, api.ExitFailed, "next: take these entries out"},
		{&lockfile.UnknownEnvironmentError{Name: "x"}, api.ExitUsage, "next: name one"},
		{prepare.ErrRequest, api.ExitUsage, ""},
		{project.ErrNoLock, api.ExitUsage, ""},
		{&lockfile.MissingPlatformError{}, api.ExitNoFit, ""},
		{prepare.ErrNoPlatform, api.ExitNoFit, ""},
		{context.DeadlineExceeded, api.ExitLate, ""},
		{cache.ErrStore, api.ExitUnreachable, "next: check the store"},
		{fmt.Errorf("%w: %w", cache.ErrStore, syscall.ENOSPC), api.ExitUnreachable, "next: free space"},
		{cache.ErrFetch, api.ExitFailed, "next: check the URL"},
		{cache.ErrIntegrity, api.ExitFailed, "next: if the channel"},
		{fmt.Errorf("while: %w", api.Errorf(api.ExitLate, "late")), api.ExitLate, ""},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			got := Classify(err)
			if got.Code != c.code {
				t.Errorf("%v: code %d, want %d", err, got.Code, c.code)
			}
			if !strings.HasPrefix(got.Message, err.Error()) || !strings.Contains(got.Message, c.next) {
				t.Errorf("%v: message %q", err, got.Message)
			}
		}
	}
}

func TestAStepThatIsNamedIsNotNamedTwice(t *testing.T) {
	got := Classify(fmt.Errorf("%w: x; next: do this", cache.ErrStore))
	if strings.Count(got.Message, "next: ") != 1 {
		t.Errorf("got %q", got.Message)
	}
}

package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/project"
)

func TestEveryClassHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		next string
	}{
		{errors.New("x"), api.ExitFailed, "next: the same command again"},
		{lockfile.ErrLock, api.ExitFailed, "next: `pixi lock`"},
		{&lockfile.ProblemsError{Problems: []string{"p"}}, api.ExitFailed, "next: take these entries out"},
		{&lockfile.UnknownEnvironmentError{Name: "x"}, api.ExitUsage, "next: name one"},
		{prepare.ErrRequest, api.ExitUsage, "next: the same command with --help"},
		{project.ErrNoLock, api.ExitUsage, "next: "},
		{&lockfile.MissingPlatformError{}, api.ExitNoFit, "next: lock it"},
		{prepare.ErrNoPlatform, api.ExitNoFit, "next: "},
		{context.DeadlineExceeded, api.ExitLate, "next: "},
		{cache.ErrStore, api.ExitUnreachable, "next: check the store"},
		{fmt.Errorf("%w: %w", cache.ErrStore, syscall.ENOSPC), api.ExitUnreachable, "next: free space"},
		{cache.ErrFetch, api.ExitFailed, "next: check the URL"},
		{fmt.Errorf("%w: %w", cache.ErrFetch, &cache.HostRefusedError{Host: "repo:443"}), api.ExitFailed, "next: if it is meant, the administrator adds repo:443 to fetch.allow in /etc/hpcenv/hpcenvd.yaml"},
		{fmt.Errorf("%w: %w", cache.ErrFetch, &cache.StatusError{Code: 404}), api.ExitFailed, "next: `pixi lock`"},
		{fmt.Errorf("%w: %w", cache.ErrFetch, &cache.StatusError{Code: 403}), api.ExitFailed, "next: check that the channel is open"},
		{&fetchError{cache.ErrFetch, "the daemon's host d1"}, api.ExitFailed, "answers to the daemon's host d1"},
		{activation.ErrScript, api.ExitFailed, "next: mend that script"},
		{activation.ErrUndo, api.ExitFailed, "next: the same command in a fresh shell"},
		{project.ErrManifest, api.ExitFailed, "next: mend the manifest"},
		{materialize.ErrUnlinkable, api.ExitFailed, "next: `pixi lock`"},
		{materialize.ErrPrefix, api.ExitFailed, "next: a shorter place"},
		{fs.ErrPermission, api.ExitFailed, "next: check the owner"},
		{cache.ErrIntegrity, api.ExitFailed, "next: if the channel"},
		{fmt.Errorf("while: %w", api.Errorf(api.ExitLate, "late")), api.ExitLate, "next: "},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			got := Classify(err)
			if got.Code != c.code {
				t.Errorf("%v: code %d, want %d", err, got.Code, c.code)
			}
			if !strings.HasPrefix(got.Message, strings.Split(err.Error(), "; next: ")[0]+"\nnext: ") || !strings.Contains(got.Message, c.next) {
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

func TestNextStepsStandOnLinesOfTheirOwn(t *testing.T) {
	for in, want := range map[string]string{
		"a; next: b":                          "a\nnext: b",
		"a; next: b\nc; next: b":              "a\nc\nnext: b",
		"a; next: b; next: c":                 "a\nnext: b\nnext: c",
		"a\nnext: b\nc":                       "a\nc\nnext: b",
		"a; b\nnext: the next: one; and more": "a; b\nnext: the next: one; and more",
	} {
		if got := Classify(api.Errorf(api.ExitFailed, "%s", in)).Message; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Classify(&api.Error{Code: 3}); got.Code != 3 || got.Message != "" {
		t.Errorf("said something where all was said: %+v", got)
	}
}

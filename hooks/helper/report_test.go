package helper

import (
	"errors"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// What a user put into a pin or a path rules no terminal and makes no lines of ours.
func TestReportIsPlain(t *testing.T) {
	var b strings.Builder
	err := refuse(api.ExitLate, "environment \x1b[31mred of %s: %w; next: nothing", orUnknown("/x\x1b]0;\nhpcenv: n1: fake"), errors.New("no\x07"))
	if code := report(&b, "hpcenv: n1", err); code != api.ExitLate {
		t.Error(code)
	}
	const want = "hpcenv: n1: environment ?[31mred of \"/x\\x1b]0;\\nhpcenv: n1: fake\": no?\nnext: nothing\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

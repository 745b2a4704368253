//go:build linux

package cmd

import (
	"net"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/munge/mungetest"
)

type testKey struct{}

// mungedCmd: munged starts one for this story: $MUNGED is its socket, $ADDRESS where a
// daemon may serve other hosts. Where MUNGE is not installed the story ends, loudly.
func mungedCmd(ts *testscript.TestScript, _ bool, _ []string) {
	t := ts.Value(testKey{}).(testing.TB)
	ts.Setenv("MUNGED", mungetest.Start(t).Socket)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("ADDRESS", l.Addr().String())
	ts.Check(l.Close())
}

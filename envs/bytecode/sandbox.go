package bytecode

import (
	"context"
	"os/exec"
	"time"

	"github.com/hpcenv/hpcenv/envs/sandbox"
)

// limits of one compiler. It cannot write a byte to any file, nor start others.
var limits = sandbox.Limits{Memory: 3 << 30, OpenFiles: 64, CPU: 4 * time.Hour}

// Sandbox runs the interpreter of packages: it sees /usr, the libraries, the
// interpreter's own files and the driver, all of them read-only, and has no way to
// write but its standard output.
type Sandbox struct{ *sandbox.Box }

// NewSandbox returns the sandbox of this host; nothing is looked for before it
// is needed.
func NewSandbox() *Sandbox { return &Sandbox{sandbox.New()} }

// command is a command in the sandbox; binds are directories of this host and
// where they appear, read-only. The command ends with ctx. done frees what it
// needed and must be called after it has started or failed.
func (s *Sandbox) command(ctx context.Context, binds [][2]string, argv ...string) (cmd *exec.Cmd, done func(), err error) {
	spec := sandbox.Spec{Argv: argv, Limits: limits}
	for _, b := range binds {
		spec.Binds = append(spec.Binds, sandbox.Bind{From: b[0], At: b[1]})
	}
	return s.Command(ctx, spec)
}

package wheels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrRefused: the reference does not install the wheel; the text is its own.
var ErrRefused = errors.New("refused")

// installTime bounds one install.
const installTime = 2 * time.Minute

// Wheel is a wheel on this machine.
type Wheel struct {
	// Path of the archive, absolute.
	Path string
	// Indexed: it is installed by name and version, as if from an index, not by its
	// path.
	Indexed bool
	// Arch is what it is for, as uname has it.
	Arch string
	// Case is its name in the table of cases; "" = it is in none.
	Case string
}

// title is what allowances and refusals call it.
func (w Wheel) title() string {
	if w.Case != "" {
		return "cases/" + w.Case
	}
	return w.base()
}

func (w Wheel) base() string { return filepath.Base(w.Path) }

// name and version as the file name has them.
func (w Wheel) name() (name, version string) {
	parts := strings.SplitN(w.base(), "-", 3)
	return parts[0], parts[1]
}

// asked is how the wheel is asked for.
func (w Wheel) asked() []string {
	if !w.Indexed {
		return []string{"--no-index", w.Path}
	}
	name, version := w.name()
	return []string{"--no-index", "--find-links", filepath.Dir(w.Path), name + "==" + version}
}

// Installers are the references, from the oracle's virtual environment.
type Installers struct {
	// Python of the virtual environment; Home is a directory that they take for the
	// user's.
	Python, Home string
}

// UV installs a wheel with uv, for a Python of version (major.minor) on the wheel's
// architecture, whatever this machine is.
func (i *Installers) UV(ctx context.Context, p *Prefix, w Wheel, version string) error {
	args := []string{"pip", "install", "--no-config", "--offline", "--no-deps", "--link-mode", "copy", "--python", p.Python(),
		"--python-version", version, "--python-platform", w.Arch + "-manylinux_2_28"}
	return i.run(ctx, filepath.Join(filepath.Dir(i.Python), "uv"), append(args, w.asked()...))
}

// Pip installs a wheel with pip; it knows no other architecture than this one.
func (i *Installers) Pip(ctx context.Context, p *Prefix, w Wheel) error {
	args := []string{"-I", "-m", "pip", "--isolated", "--python", p.Python(), "install", "--no-deps", "--no-compile", "--ignore-requires-python",
		"--no-warn-script-location", "--disable-pip-version-check", "--root-user-action", "ignore", "--no-cache-dir"}
	return i.run(ctx, i.Python, append(args, w.asked()...))
}

func (i *Installers) run(ctx context.Context, program string, args []string) error {
	ctx, stop := context.WithTimeout(ctx, installTime)
	defer stop()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + i.Home, "TMPDIR=" + i.Home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "UV_CACHE_DIR=" + filepath.Join(i.Home, "uv"), "NO_COLOR=1"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return fmt.Errorf("%w: %s", ErrRefused, strings.TrimSpace(out.String()))
	}
	return err
}

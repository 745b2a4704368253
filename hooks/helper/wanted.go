package helper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"github.com/hpcenv/hpcenv/daemon/api"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/satisfy"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

const (
	// maxLockBytes is the stated limit of design 9, with room.
	maxLockBytes = 64 << 20
	// maxInline bounds what of the manifest travels in the pin itself.
	maxInline = 2048
)

// wanted is what the user asked for.
type wanted struct {
	// shown is the lock's path for messages; data its bytes, nil when the lock
	// is that of an inherited pin.
	shown  string
	data   []byte
	digest string
	// name of an environment; "" = the lock names several, and none was asked for.
	name string
	// python: the lock names no environments, and name is a wish.
	python bool
	// group in whose part of the store the lock of an inherited pin lies; "" = in the
	// store itself.
	group string
	// before is the environment of an inherited pin, inherited the pin; "" and nil =
	// there is none.
	before    string
	inherited *pin.Pin
	// activation is the canonical JSON of the manifest's part, nil if none.
	activation []byte
	actDigest  string
	// editable is what the manifest says of packages by path; overlay is that of an
	// inherited pin, if it holds for what is wanted now.
	editable map[string]bool
	overlay  *pin.Overlay
	// project beside the lock; nil = none.
	project *project.Project
}

// inline returns the activation if it is small enough to travel, else nil.
func (w *wanted) inline() json.RawMessage {
	if w.activation == nil || len(w.activation) > maxInline {
		return nil
	}
	return json.RawMessage(w.activation)
}

// wanted reads the lock that the options name, or takes that of the pin which
// this process inherited.
func (s *submission) wanted(ctx context.Context) (*wanted, error) {
	if s.lock == "" {
		return s.wantedOfPin()
	}
	if w, ok, err := s.earlier(ctx); ok {
		return w, err
	}
	path, err := expandHome(s.lock)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		lock, found, err := project.LockIn(path)
		if err != nil {
			return nil, refuse(api.ExitUsage, "%w", err)
		}
		if path = filepath.Join(path, project.LockName); found {
			path = lock
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, refuse(api.ExitFailed, "--env-lock=%s: %w", s.lock, err)
	}
	data, err := readLock(abs)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	w := &wanted{shown: abs, data: data, digest: hex.EncodeToString(sum[:]), name: s.name}
	frozen := satisfy.Frozen(os.Getenv("HPCENV_FROZEN"))
	if python := project.OpenPython(abs, data); python != nil {
		if !frozen {
			if err := satisfy.VerifyUV(abs, data, satisfy.Memory()); err != nil {
				return nil, refuse(api.ExitUsage, "%w", err)
			}
		}
		return w, w.wish(python)
	}
	proj, err := project.Load(filepath.Dir(abs))
	if err != nil {
		return nil, refuse(api.ExitUsage, "%w", err)
	}
	if proj == nil {
		return w, nil
	}
	if !frozen {
		if err := satisfy.Verify(proj, abs, data, satisfy.Memory()); err != nil {
			return nil, refuse(api.ExitUsage, "%w", err)
		}
	}
	w.project = proj
	return w, nil
}

// of is what is wanted of one of the lock's environments, with what the manifest adds
// to it.
func (w *wanted) of(name string) (*wanted, error) {
	one := *w
	one.name = name
	if c := w.choiceBefore(name); c != nil {
		one.activation, one.actDigest, one.overlay = c.Inline, c.Activation, c.Overlay
		return &one, nil
	}
	if p := w.inherited; p != nil && !w.python {
		var err error
		if one.project, err = manifestOf(p.LockPath); err != nil {
			return nil, err
		}
	}
	if one.project == nil {
		return &one, nil
	}
	return &one, one.manifest()
}

// manifest takes what the project says of the environment.
func (w *wanted) manifest() (err error) {
	if w.editable, err = editableOf(w.project, w.name); err != nil {
		return err
	}
	m, err := w.project.Activation(w.name)
	var unknown *project.UnknownEnvironmentError
	switch {
	case errors.As(err, &unknown):
		// Whether there is such an environment is for the lock to say.
	case err != nil:
		return refuse(api.ExitUsage, "%w", err)
	case m != nil:
		w.activation, w.actDigest = project.Canonical(m)
	}
	return nil
}

// wish turns a wish of a lock that names no environments into a name.
func (w *wanted) wish(lock *project.PythonLock) error {
	w.python = true
	if w.name == "" {
		w.name = "default"
	}
	names, err := lock.Names([]string{w.name}, false)
	if err != nil {
		return refuse(api.ExitUsage, "--env-name=%s of %s: %w; next: --env-name=default, --env-name=extra=NAME, --env-name=group=NAME (several with commas)", w.name, w.shown, err)
	}
	w.name = names[0]
	return nil
}

// wishOfPin is wish for the lock of an inherited pin: nothing lies beside it any
// more, so the Python is that of the pin unless the name says another.
func (s *submission) wishOfPin(st *submitStore, w *wanted) error {
	if w.data != nil || s.name == "" && !s.nested() {
		return nil
	}
	if p := w.inherited; s.nested() && p.Description != "" {
		w.asChosen(p) // no wish: it has environments
		return nil
	}
	data, err := st.lockBytes(w)
	if err != nil {
		return err
	}
	lock := project.OpenPython("", data)
	if lock == nil {
		if s.nested() {
			w.data = data
			w.asChosen(w.inherited)
		}
		return nil
	}
	wish, err := python.ParseWish(w.name)
	if err == nil && wish.Python.Text == "" {
		var before python.Wish
		if before, err = python.ParseWish(w.before); err == nil {
			wish.Python = before.Python
			w.name = wish.String()
		}
	}
	if err != nil {
		return refuse(api.ExitUsage, "--env-name=%s of %s: %w", s.name, w.shown, err)
	}
	w.data = data
	return w.wish(lock)
}

// wantedOfPin: --env-name without --env-lock inside a job means another
// environment of the job's own lock.
func (s *submission) wantedOfPin() (*wanted, error) {
	if s.inherited == "" {
		return nil, refuse(api.ExitUsage, "--env-name=%s names an environment, but no lock is given; next: add --env-lock=. (the directory of your pixi.lock)", s.name)
	}
	if size := os.Getenv("SLURM_HET_SIZE"); size != "" && size != "1" && !s.nested() {
		// Only component 0's pin is in the variables of a heterogeneous job.
		return nil, refuse(api.ExitUsage, "--env-name=%s alone is ambiguous in a heterogeneous job, whose components may have a lock each; next: name the lock too (srun --env-lock=PATH --env-name=%s)", s.name, s.name)
	}
	p, err := pin.Decode(s.inherited)
	if err != nil {
		return nil, refuse(api.ExitUsage, "%w; next: name the lock with --env-lock", err)
	}
	w := &wanted{shown: p.LockPath, digest: p.Lock, name: p.Environment, before: p.Environment, group: p.Group, inherited: p}
	if s.name != "" {
		w.name = s.name
	}
	if s.store == "" || p.Store != "" {
		s.store = p.Store
	}
	return w, nil
}

// readLock reads a lock file whole; the error says what was looked for.
func readLock(path string) ([]byte, error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why := ""
		if strings.ContainsRune(path, '$') {
			why = " (variables are not expanded here)"
		}
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return nil, refuse(api.ExitUsage, "no lock file at %s%s: there is no such directory; next: correct --env-lock=PATH", path, why)
		}
		return nil, refuse(api.ExitUsage, "no lock file at %s%s; next: run %s there, or name the lock (--env-lock=PATH)", path, why, lockfile.FormatOf(filepath.Base(path), nil).Relock())
	case errors.Is(err, fs.ErrPermission):
		return nil, refuse(api.ExitUsage, "the lock file cannot be read: %w; next: check its permissions", err)
	case err != nil:
		return nil, refuse(api.ExitUsage, "the lock file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLockBytes+1))
	if err != nil {
		return nil, refuse(api.ExitUsage, "the lock file: %w", err)
	}
	if len(data) > maxLockBytes {
		return nil, refuse(api.ExitUsage, "%s is longer than %d MiB; is it a lock file?", path, maxLockBytes>>20)
	}
	if len(data) == 0 {
		return nil, refuse(api.ExitUsage, "%s is empty; next: run %s", path, lockfile.FormatOf(filepath.Base(path), nil).Relock())
	}
	return data, nil
}

// expandHome does what the shell does not: the ~ of --env-lock=~/p and of
// #SBATCH lines reaches us as it is.
func expandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || (rest != "" && rest[0] != '/') {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", refuse(api.ExitUsage, "--env-lock=%s: %w; next: write the path out", path, err)
	}
	return home + rest, nil
}

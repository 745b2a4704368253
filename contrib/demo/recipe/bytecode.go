package recipe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
)

// addByteCode gives packages of one architecture compiled files beside their
// Python sources, as conda's have them (noarch packages have none). The new
// packages' own Python compiles, for all architectures: byte-code does not
// depend on the machine. It is hash-based, so that no file's time matters.
func addByteCode(ctx context.Context, packages []*condapkg.Package, archs []Arch, py string) (err error) {
	host := -1
	for i, a := range archs {
		if a.Debian == runtime.GOARCH {
			host = i
		}
	}
	if host < 0 {
		return fmt.Errorf("byte-code: this machine (%s) can run the Python of none of the channel's architectures", runtime.GOARCH)
	}
	dir, err := os.MkdirTemp("", "hpcenv-demo-pyc-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	src, out, prefix := filepath.Join(dir, "src"), filepath.Join(dir, "out"), filepath.Join(dir, "prefix")
	for _, d := range []string{src, out} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	for _, p := range packages {
		if p.Subdir == archs[host].Subdir {
			if err := stage(prefix, p, py); err != nil {
				return err
			}
		}
		for i := range p.Files {
			if f := &p.Files[i]; compiled(p, f, py) {
				if err := os.WriteFile(filepath.Join(src, sum(f.Data)), f.Data, 0o600); err != nil {
					return err
				}
			}
		}
	}
	script := filepath.Join(dir, "compile.py")
	if err := os.WriteFile(script, compilePy, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(prefix, "bin", "python"+py), "-S", "-s", "-B", "-W", "ignore", script, src, out)
	cmd.Env = []string{"PYTHONHASHSEED=0"}
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("byte-code: the channel's own Python failed: %w: %s", err, msg)
	}
	for _, p := range packages {
		if err := take(p, out, py); err != nil {
			return err
		}
	}
	return nil
}

// compiled tells which files get byte-code: sources whose content is the same
// wherever they are installed.
func compiled(p *condapkg.Package, f *condapkg.File, py string) bool {
	return p.Subdir != "noarch" && strings.HasPrefix(f.Path, "lib/python"+py+"/") && strings.HasSuffix(f.Path, ".py") &&
		f.Link == "" && !bytes.Contains(f.Data, []byte(condapkg.Placeholder))
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// stage writes what Python itself needs of a package.
func stage(prefix string, p *condapkg.Package, py string) error {
	for i := range p.Files {
		f := &p.Files[i]
		library := path.Dir(f.Path) == "lib"
		if f.Path != "bin/python"+py && !library && !strings.HasPrefix(f.Path, "lib/python"+py+"/") {
			continue
		}
		name := filepath.Join(prefix, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		err := error(nil)
		if f.Link != "" {
			err = os.Symlink(f.Link, name)
		} else {
			err = os.WriteFile(name, f.Data, 0o700)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take adds the compiled files of a package.
func take(p *condapkg.Package, out, py string) error {
	tag := ".cpython-" + strings.ReplaceAll(py, ".", "") + ".pyc"
	var added []condapkg.File
	for i := range p.Files {
		f := &p.Files[i]
		if !compiled(p, f, py) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(out, sum(f.Data)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // no Python 3
		}
		if err != nil {
			return err
		}
		added = append(added, condapkg.File{
			Path: path.Join(path.Dir(f.Path), "__pycache__", strings.TrimSuffix(path.Base(f.Path), ".py")+tag), Data: data,
		})
	}
	p.Files = append(p.Files, added...)
	return nil
}

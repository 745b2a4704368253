package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/slowfs"
	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
)

// world is everything that launches work on, below one folder.
type world struct {
	dir     string
	storage *slowfs.Tree // what the parallel file system shows
	trace   *trace.Trace // the recorded start
	program []string     // the arguments of Python in it
	modules string       // how many it imports beside NumPy
	node    hpcenv       // how hpcenv is started on nodes
	files   int          // of the prefix
}

// nobody has the job; it is the user nobody of most systems.
const nobody = 65534

func (w *world) path(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

// stored is the place of a thing before the parallel file system shows it.
func (w *world) stored(path string) string { return w.path("storage", path) }

// newWorld makes the world.
func newWorld(ctx context.Context, o *options) (*world, error) {
	w := &world{dir: filepath.Join(o.work, "storm"), node: hpcenv{PrefixRoot: filepath.Join(o.work, "storm/e"), User: nobody, Group: nobody}}
	var err error
	if w.node.Env, err = jobEnv(); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(w.dir); err != nil { // what a killed run left
		return nil, err
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return nil, err
	}
	err = w.prepare(ctx, o)
	if err == nil {
		err = w.fill(ctx, o.project)
	}
	if err == nil {
		err = w.record(ctx)
	}
	if err == nil {
		err = w.index()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(w.dir))
	}
	return w, nil
}

// fill puts the prepared environment on the storage in all other forms, and on the nodes'
// disks.
func (w *world) fill(ctx context.Context, project string) error {
	if err := w.split(ctx); err != nil {
		return err
	}
	for _, d := range []string{w.stored(filepath.Dir(storedPack)), w.stored(storedPixi + "/.pixi/envs"), w.node.prefix()} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	def := w.tree()
	disk, err := diskSize(def)
	if err != nil {
		return err
	}
	for _, cmd := range [][]string{
		{"cp", "-al", def, w.stored(storedPixi) + "/.pixi/envs/default"},
		// As conda-pack: level 4. What conda-unpack would do afterwards is left out.
		{"sh", "-c", `tar -C "$1" -cf - . | gzip -4 >"$2"`, "sh", def, w.stored(storedPack)},
		{"mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-d", def, w.path("floor.ext4"), disk},
	} {
		if err := command(ctx, nil, cmd...); err != nil {
			return err
		}
	}
	for _, name := range []string{"pixi.toml", "pixi.lock"} {
		if err := copyFile(filepath.Join(project, name), filepath.Join(w.stored(storedPixi), name)); err != nil {
			return err
		}
	}
	return nil
}

// tree is the published prefix, where it lies for the storage to show.
func (w *world) tree() string {
	return w.stored(filepath.Join(treeStoreDir, "trees", platform, w.node.ID))
}

// index is what the parallel file system shows from now on.
func (w *world) index() error {
	prefix, err := slowfs.Index(w.tree())
	if err != nil {
		return err
	}
	w.files = prefix.Len()
	w.storage, err = slowfs.Index(w.path("storage"))
	return err
}

// diskSize is enough for a file system with all files of dir, as mkfs writes it.
func diskSize(dir string) (string, error) {
	const block, spare = 4096, 64 << 20
	sum := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum += (info.Size()/block + 2) * block // and its inode
		return nil
	})
	return strconv.FormatInt((sum+sum/10+spare)>>20, 10) + "M", err
}

// close removes the world.
func (w *world) close() error {
	return errors.Join(w.storage.Close(), os.RemoveAll(w.dir))
}

// command runs a program; its output is told only if it fails. env nil is ours.
func command(ctx context.Context, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

func discard(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(struct{ io.Writer }{io.Discard}, f)
	return errors.Join(err, f.Close())
}

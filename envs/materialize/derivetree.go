package materialize

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
)

// deriveTree adds a tree to an environment whose image is published as have says. All
// that it holds goes through the pool, so that it shares its inodes with what is linked
// there before and afterwards; and it is compared with what was noted.
func deriveTree(ctx context.Context, store *cache.Store, req *Request, have *Meta) (_ *Meta, err error) {
	path := store.ImagePath(req.Platform, req.ID)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", cache.ErrStore, path, err)
	}
	defer f.Close() // only read
	if err := image.Check(f, have.Image); err != nil {
		return nil, err
	}
	img, err := image.Open(f, have.Image.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: image %s: %w", cache.ErrIntegrity, path, err)
	}
	staging, err := store.TempDir("env")
	if err != nil {
		return nil, err
	}
	defer func() {
		// A published tree has been renamed away.
		if rerr := os.RemoveAll(staging); rerr != nil && err == nil {
			err = fmt.Errorf("%w: remove %s: %w", cache.ErrStore, staging, rerr)
		}
	}()
	a, err := newApplier(store, staging, &written{})
	if err != nil {
		return nil, err
	}
	p := &placing{applier: a, elf: map[string]bool{}}
	err = img.Walk(ctx, p.place)
	if err = errors.Join(err, a.close()); err != nil {
		if errors.Is(err, image.ErrFormat) {
			err = fmt.Errorf("%w: %w", cache.ErrIntegrity, err)
		}
		return nil, fmt.Errorf("tree of the image %s: %w", path, err)
	}
	res := a.finish(&written{method: a.pool.Method()}).result()
	if res.TreeDigest != have.TreeDigest {
		return nil, fmt.Errorf("%w: the image %s is not as it was made (tree digest %s, was %s), so that no tree is made of it; next: hpcenv admin verify %s", cache.ErrIntegrity, path, res.TreeDigest, have.TreeDigest, req.ID)
	}
	meta := *have
	meta.BytesNew, meta.Cost = res.BytesNew, &res.Cost
	if err := saveMeta(store, &meta); err != nil {
		return nil, err
	}
	if err := store.PublishDir(ctx, staging, store.TreePath(req.Platform, req.ID)); err != nil {
		return nil, err
	}
	meta.Delivered = image.Both
	return &meta, nil
}

// placing puts what an image holds into a staged tree.
type placing struct {
	*applier
	// elf are the contents of programs and libraries that are there: the loader takes
	// two links of one inode for one library.
	elf map[string]bool
}

func (p *placing) place(e *image.Entry, content io.Reader) error {
	switch {
	case e.Path == ".":
		return nil
	case e.Mode.IsDir():
		return p.add(linkscript.Change{Path: e.Path, Kind: linkscript.Dir})
	case e.Mode&fs.ModeSymlink != 0:
		return p.add(linkscript.Change{Path: e.Path, Kind: linkscript.Link, Target: e.Target})
	}
	in := bufio.NewReader(content)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	isELF := string(head) == "\x7fELF"
	c := cache.Entry{Path: e.Path, Type: cache.EntryFile, Exec: e.Mode&0o111 != 0, Size: e.Size}
	if c.SHA256, err = p.adder.AddFile(in, e.Size, c.Exec); err != nil {
		return err
	}
	c.NoLink = isELF && p.elf[c.SHA256]
	if isELF {
		p.elf[c.SHA256] = true
	}
	method, err := p.pool.LinkAt(p.fd(), c.Path, c)
	if err != nil {
		return err
	}
	p.paths[c.Path] = line{path: c.Path, kind: 'f', exec: c.Exec, value: c.SHA256, size: c.Size, pooled: true, method: method}
	return nil
}

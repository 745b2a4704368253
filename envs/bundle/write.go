package bundle

import (
	"archive/tar"
	"context"
	"crypto/md5" // conda's locks have it beside the sha256
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/hpcenv/hpcenv/cache"
)

// Opener opens the archive of a source and tells its size in bytes.
type Opener func(ctx context.Context, src cache.Source) (content io.ReadCloser, size int64, err error)

// Write writes the bundle. Every archive is verified while it is written: bytes
// that are not what the lock promises are an error of class cache.ErrIntegrity, and
// what was written is of no use.
func (p *Plan) Write(ctx context.Context, w io.Writer, open Opener) error {
	sizes, err := p.sizes(ctx, open)
	if err != nil {
		return err
	}
	t := &tarWriter{tar: tar.NewWriter(w), dirs: map[string]bool{}}
	if err := p.writeSmall(t, sizes); err != nil {
		return err
	}
	for _, m := range p.members {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		content, size, err := open(ctx, m.source)
		if err != nil {
			return err
		}
		err = t.file(m.Path, size, newVerifier(content, m.source, size))
		if cerr := content.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("package %s%s: %w", m.source.Name, nameOf(content), err)
		}
	}
	return t.tar.Close()
}

// nameOf is what a file is called, for messages.
func nameOf(content io.Reader) string {
	if f, ok := content.(interface{ Name() string }); ok {
		return ": " + f.Name()
	}
	return ""
}

// sizes of the first content's conda archives, by sha256: the lock need not say.
func (p *Plan) sizes(ctx context.Context, open Opener) (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, a := range archivesOf(p.first) {
		sizes[a.source.SHA256] = a.source.Size
		if a.source.Size > 0 {
			continue
		}
		content, size, err := open(ctx, a.source)
		if err == nil {
			err = content.Close()
		}
		if err != nil {
			return nil, err
		}
		sizes[a.source.SHA256] = size
	}
	return sizes, nil
}

// writeSmall writes all but the archives.
func (p *Plan) writeSmall(t *tarWriter, sizes map[string]int64) error {
	pack, err := asJSON(packFile{Version: packVersion, Platform: p.first.Subdir})
	if err != nil {
		return err
	}
	about := ownFile{Version: ownVersion, Lock: ownMember{path.Join(projectDir, p.project.LockName), p.digest}, Contents: p.Contents, Archives: p.members}
	type file struct {
		name string
		data []byte
	}
	var lists []file
	if p.pythons != nil {
		data, err := p.pythons.list()
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		about.Python = &ownPythons{List: ownMember{pythonsName, hex.EncodeToString(sum[:])}, Platforms: p.pythons.Platforms}
		lists = append(lists, file{pythonsName, data})
	}
	own, err := asJSON(about)
	if err != nil {
		return err
	}
	files := []file{{packName, pack}, {environmentName, environmentFile(p.first)}, {ownName, own}, {path.Join(projectDir, p.project.LockName), p.project.Lock}}
	files = append(files, lists...)
	for _, name := range slices.Sorted(maps.Keys(p.project.Files)) {
		if !safePath(name) || name == p.project.LockName {
			return fmt.Errorf("%w: a project file cannot be called %q in a bundle", ErrBundle, name)
		}
		files = append(files, file{path.Join(projectDir, name), p.project.Files[name]})
	}
	for _, subdir := range []string{p.first.Subdir, noarch} { // conda insists on noarch
		data, err := repodataOf(subdir, p.first.Conda, sizes)
		if err != nil {
			return err
		}
		files = append(files, file{path.Join(channelDir, subdir, repodataName), data})
	}
	for _, f := range files {
		if err := t.bytes(f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// tarWriter writes members that say nothing of who wrote them, where and when.
type tarWriter struct {
	tar  *tar.Writer
	dirs map[string]bool
}

func (t *tarWriter) bytes(name string, data []byte) error {
	if err := t.header(name, int64(len(data))); err != nil {
		return err
	}
	_, err := t.tar.Write(data)
	return err
}

func (t *tarWriter) file(name string, size int64, content io.Reader) error {
	if err := t.header(name, size); err != nil {
		return err
	}
	_, err := io.Copy(t.tar, content)
	return err
}

func (t *tarWriter) header(name string, size int64) error {
	if err := t.dir(path.Dir(name)); err != nil {
		return err
	}
	return t.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, ModTime: cache.FileTime})
}

func (t *tarWriter) dir(name string) error {
	if name == "." || t.dirs[name] {
		return nil
	}
	if err := t.dir(path.Dir(name)); err != nil {
		return err
	}
	t.dirs[name] = true
	return t.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: cache.FileTime})
}

// verifier passes an archive on. Its end is an error of class cache.ErrIntegrity if
// what passed is not what src promises.
type verifier struct {
	r           io.Reader
	src         cache.Source
	sha256, md5 hash.Hash
	n, size     int64
}

// newVerifier verifies r, which must have size bytes.
func newVerifier(r io.Reader, src cache.Source, size int64) *verifier {
	v := &verifier{r: r, src: src, sha256: sha256.New(), size: size}
	if src.MD5 != "" {
		v.md5 = md5.New()
	}
	return v
}

func (v *verifier) Read(b []byte) (int, error) {
	n, err := v.r.Read(b)
	v.sha256.Write(b[:n]) // never fails
	if v.md5 != nil {
		v.md5.Write(b[:n])
	}
	v.n += int64(n)
	if err == io.EOF {
		if bad := v.check(); bad != nil {
			return 0, bad
		}
	}
	return n, err
}

func (v *verifier) check() error {
	have := hex.EncodeToString(v.sha256.Sum(nil))
	switch {
	case v.n != v.size:
		return fmt.Errorf("%w: %d bytes of %d are there", cache.ErrIntegrity, v.n, v.size)
	case v.src.Size > 0 && v.n != v.src.Size:
		return fmt.Errorf("%w: size is %d bytes, the lock says %d", cache.ErrIntegrity, v.n, v.src.Size)
	case have != v.src.SHA256:
		return fmt.Errorf("%w: sha256 is %s, the lock says %s", cache.ErrIntegrity, have, v.src.SHA256)
	case v.md5 != nil && hex.EncodeToString(v.md5.Sum(nil)) != v.src.MD5:
		return fmt.Errorf("%w: md5 is %x, the lock says %s", cache.ErrIntegrity, v.md5.Sum(nil), v.src.MD5)
	}
	return nil
}

package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/pyenv"
)

// Bundle is a bundle that was opened. Its archives are read when they are asked
// for; many goroutines may do so.
type Bundle struct {
	// Project is the lock with the files that came with it. Of a pack of pixi-pack
	// the lock is derived and there are no files.
	Project Project
	// Digest of the lock.
	Digest string
	// Contents: what the lock is to be prepared for.
	Contents []Content
	// Derived: it is a pack of pixi-pack, which has no lock; PackVersion is the
	// version of the pixi-pack that made it, "" = not said.
	Derived     bool
	PackVersion string

	// Pythons of a lock that names none: which the bundle's environments got.
	// PythonList is the list of them, a file as sites have it.
	Pythons    *Pythons
	PythonList []byte
	// Trees are the local source trees of the contents, which no bundle has.
	Trees []lockfile.SourceTree

	tree     tree
	archives map[string]member
}

// Open opens a bundle, or a pack of pixi-pack: a tar file or a folder. What can be
// told without reading its archives is checked; they are when they are read.
// Errors are of class ErrBundle, lockfile.ErrLock, or the file system's. The caller
// closes it.
func Open(name string) (*Bundle, error) {
	t, err := openTree(name)
	if err != nil {
		return nil, err
	}
	b, err := fromTree(t)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return b, nil
}

func fromTree(t tree) (*Bundle, error) {
	b := &Bundle{tree: t, archives: map[string]member{}}
	var pack packFile
	data, err := read(t, packName)
	if err != nil {
		return nil, fmt.Errorf("%w; is it a bundle?", err)
	}
	// Of a newer version only this much is sure.
	var version struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBundle, packName, err)
	}
	if version.Version != packVersion {
		return nil, fmt.Errorf("%w: %s says version %q, this hpcenv reads version %q; next: use a newer hpcenv, or make the pack with a pixi-pack that writes version %s",
			ErrBundle, packName, version.Version, packVersion, packVersion)
	}
	if err := json.Unmarshal(data, &pack); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBundle, packName, err)
	}
	if !lockfile.LinuxSubdir(pack.Platform) {
		return nil, fmt.Errorf("%w: it is for the platform %q; hpcenv makes environments for Linux", ErrBundle, pack.Platform)
	}
	b.PackVersion = pack.PackVersion
	if _, _, err := t.open(ownName); errors.Is(err, fs.ErrNotExist) {
		b.Derived = true
		return b, b.readPack(pack.Platform)
	} else if err != nil {
		return nil, err
	}
	return b, b.readOwn()
}

// readOwn reads what hpcenv wrote.
func (b *Bundle) readOwn() error {
	data, err := read(b.tree, ownName)
	if err != nil {
		return err
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBundle, ownName, err)
	}
	if version.Version != ownVersion {
		return fmt.Errorf("%w: %s says version %d, this hpcenv reads version %d; next: use a newer hpcenv", ErrBundle, ownName, version.Version, ownVersion)
	}
	var own ownFile
	if err := json.Unmarshal(data, &own); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBundle, ownName, err)
	}
	if path.Dir(own.Lock.Path) != projectDir || !safePath(own.Lock.Path) {
		return fmt.Errorf("%w: %s names the lock %q, which is not in %s", ErrBundle, ownName, own.Lock.Path, projectDir)
	}
	b.Project = Project{LockName: path.Base(own.Lock.Path), Files: map[string][]byte{}}
	if b.Project.Lock, err = read(b.tree, own.Lock.Path); err != nil {
		return err
	}
	sum := sha256.Sum256(b.Project.Lock)
	if b.Digest = hex.EncodeToString(sum[:]); b.Digest != own.Lock.SHA256 {
		return fmt.Errorf("%w: %s has sha256 %s, %s says %s", ErrBundle, own.Lock.Path, b.Digest, ownName, own.Lock.SHA256)
	}
	for _, name := range b.tree.names() {
		rel, ok := strings.CutPrefix(name, projectDir+"/")
		if !ok || name == own.Lock.Path {
			continue
		}
		if b.Project.Files[rel], err = read(b.tree, name); err != nil {
			return err
		}
	}
	for _, m := range own.Archives {
		if err := b.has(m); err != nil {
			return err
		}
	}
	b.Contents = own.Contents
	if err := b.readPythons(own.Python); err != nil {
		return err
	}
	return b.complete()
}

// readPythons reads the list of Pythons, if there is one.
func (b *Bundle) readPythons(own *ownPythons) error {
	if own == nil {
		return nil
	}
	if own.List.Path != pythonsName {
		return fmt.Errorf("%w: %s names the list of Pythons %q, which is not %s", ErrBundle, ownName, own.List.Path, pythonsName)
	}
	data, err := read(b.tree, pythonsName)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if digest := hex.EncodeToString(sum[:]); digest != own.List.SHA256 {
		return fmt.Errorf("%w: %s has sha256 %s, %s says %s", ErrBundle, pythonsName, digest, ownName, own.List.SHA256)
	}
	offer, err := pyenv.Parse(pythonsName, data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBundle, err)
	}
	b.Pythons, b.PythonList = &Pythons{Offer: offer, Platforms: own.Platforms}, data
	return nil
}

// has notes an archive.
func (b *Bundle) has(m member) error {
	f, _, err := b.tree.open(m.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: it has no %s, which %s names", ErrBundle, m.Path, ownName)
	}
	if err == nil {
		err = f.Close()
	}
	b.archives[m.SHA256] = m
	return err
}

// complete checks that all archives are there that the contents need.
func (b *Bundle) complete() error {
	if len(b.Contents) == 0 {
		return fmt.Errorf("%w: it says of no environment that it holds it", ErrBundle)
	}
	lock, err := parse(b.Project.Lock, b.Pythons, b.Environments(), false)
	if err != nil {
		return err
	}
	var platforms []*lockfile.Platform
	for _, c := range b.Contents {
		env, err := lock.lock.Environment(c.Environment)
		if err != nil {
			return err
		}
		p, err := env.Platform(c.Platform)
		if err != nil {
			return err
		}
		platforms = append(platforms, p)
		for _, a := range archivesOf(p) {
			if a.err != nil {
				return a.err
			}
			if _, ok := b.archives[a.source.SHA256]; !ok {
				return fmt.Errorf("%w: environment %s needs %s (sha256 %s), which is not in it", ErrBundle, c, a.source.Name, a.source.SHA256)
			}
		}
	}
	b.Trees = lockfile.SourceTrees(platforms...)
	return nil
}

// Archive opens the archive with this sha256 and tells its size in bytes; the
// content is nil if the bundle has none. Reading to its end verifies it: other bytes
// are an error of class cache.ErrIntegrity.
func (b *Bundle) Archive(digest string) (content io.ReadCloser, size int64, err error) {
	m, ok := b.archives[digest]
	if !ok {
		return nil, 0, nil
	}
	f, size, err := b.tree.open(m.Path)
	if err != nil {
		return nil, 0, fmt.Errorf("%s of the bundle: %w", m.Path, err)
	}
	return &named{newVerifier(f, cache.Source{SHA256: digest}, size), f, m.Path}, size, nil
}

// named is a member whose errors say which it is.
type named struct {
	*verifier
	io.Closer
	path string
}

func (n *named) Read(b []byte) (int, error) {
	k, err := n.verifier.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s of the bundle: %w; next: copy the bundle again, or make it anew", n.path, err)
	}
	return k, err
}

// Environments and Platforms of the contents, each once, sorted.
func (b *Bundle) Environments() []string {
	return distinct(b.Contents, func(c Content) string { return c.Environment })
}

// Platforms are the conda subdirs of the contents, each once, sorted.
func (b *Bundle) Platforms() []string {
	return distinct(b.Contents, func(c Content) string { return c.Platform })
}

func distinct(contents []Content, of func(Content) string) []string {
	set := map[string]bool{}
	for _, c := range contents {
		set[of(c)] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Close closes the file.
func (b *Bundle) Close() error { return b.tree.Close() }

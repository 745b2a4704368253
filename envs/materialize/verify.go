package materialize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"

	"github.com/hpcenv/hpcenv/cache"
)

// Difference is a path of a tree that is not as it should be.
type Difference struct {
	// Path relative to the prefix, and in words how it differs.
	Path, What string
}

// Tree is what a directory holds, or should hold, path by path.
type Tree struct {
	lines []line
	// odd are paths below the root that the wrong people may read or write, owner is the
	// root's, and root what it is.
	odd   []Difference
	owner uint32
	root  fs.FileInfo
}

// Digest is the tree digest; empty if the content of a file is not known.
func (t *Tree) Digest() string {
	for i := range t.lines {
		if t.lines[i].value == anything && t.lines[i].kind == 'f' {
			return ""
		}
	}
	return digestLines(t.lines)
}

// Unknown is how many files are planned whose content is not known.
func (t *Tree) Unknown() (n int) {
	for i := range t.lines {
		if t.lines[i].value == anything && t.lines[i].kind == 'f' {
			n++
		}
	}
	return n
}

// ReadTree reads all below root. Unlike TreeDigest it does not fail on what
// cannot be in a prefix (a socket, a file that cannot be read): Differences
// tells of it. It fails if root itself is not there.
func ReadTree(ctx context.Context, root string) (*Tree, error) {
	t := &Tree{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p == root {
			if err == nil {
				t.look(".", d)
			}
			return err
		}
		rel, rerr := filepath.Rel(root, p)
		if rerr != nil {
			return rerr
		}
		l := line{path: filepath.ToSlash(rel)}
		switch {
		case err != nil: // a directory that cannot be listed comes a second time
			t.lines[len(t.lines)-1] = broken(l.path, err)
			return fs.SkipDir
		case d.IsDir():
			l.kind = 'd'
		case d.Type() == fs.ModeSymlink:
			l.kind = 'l'
			if l.value, err = os.Readlink(p); err != nil {
				l = broken(l.path, err)
			}
		case d.Type().IsRegular():
			l.kind = 'f'
		default:
			l = broken(l.path, errors.New("neither directory, file nor link"))
		}
		t.lines = append(t.lines, l)
		if l.kind != '?' {
			t.look(l.path, d)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: read tree %s: %w", cache.ErrStore, root, err)
	}
	var files []int
	for i := range t.lines {
		if t.lines[i].kind == 'f' {
			files = append(files, i)
		}
	}
	err = forAll(ctx, files, max(4, runtime.GOMAXPROCS(0)), func(i int) error {
		l := &t.lines[i]
		var err error
		if l.exec, l.value, err = fileDigest(filepath.Join(root, filepath.FromSlash(l.path))); err != nil {
			*l = broken(l.path, err)
		}
		return nil
	}, func(int) {})
	return t, err
}

// broken is the line of what cannot be read: no plan has such.
func broken(path string, err error) line {
	return line{path: path, kind: '?', value: err.Error()}
}

// Tree is what the prefix must hold. It reads the pool for files that are
// patched; a pool file that is not what its name says is an ErrIntegrity error.
func (p *Plan) Tree(ctx context.Context, store *cache.Store) (*Tree, error) {
	t := &Tree{lines: make([]line, 0, len(p.Ops))}
	inPrefix := map[string]content{}
	for i := range p.Ops {
		op := &p.Ops[i]
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l := line{path: op.Path, kind: 'f', exec: op.Exec, value: op.SHA256}
		switch op.Kind {
		case KindDir:
			l.kind, l.exec, l.value = 'd', false, ""
		case KindSymlink:
			l.kind, l.exec, l.value = 'l', false, op.Target
		case KindFile:
		case KindData:
			if _, ok := p.unknown[op.Path]; ok {
				l.value = anything
				break
			}
			sum := sha256.Sum256(op.Data)
			l.value = hex.EncodeToString(sum[:])
			inPrefix[op.Path] = content{SHA256: l.value, Size: int64(len(op.Data))}
		case KindPatch:
			c, err := p.patched(store, op, io.Discard)
			if err != nil {
				return nil, err
			}
			l.value, inPrefix[op.Path] = c.SHA256, c
		case KindRecord:
			continue // names digests of the others
		}
		t.lines = append(t.lines, l)
	}
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Kind != KindRecord {
			continue
		}
		l := line{path: op.Path, kind: 'f', exec: op.Exec, value: anything}
		if !p.recordUnknown(op.Owner) {
			data, err := p.recordJSON(op.Owner, inPrefix, nil)
			if err != nil {
				return nil, err
			}
			sum := sha256.Sum256(data)
			l.value = hex.EncodeToString(sum[:])
		}
		t.lines = append(t.lines, l)
	}
	return t, nil
}

// anything is the value of a file that is planned and may hold anything, or be
// missing: its compiler may have failed.
const anything = "*"

// recordUnknown: the record of package i tells the digest of an unknown file.
func (p *Plan) recordUnknown(i int) bool {
	for path := range p.unknown {
		if _, ok := p.changed[path]; !ok {
			continue
		}
		for j := range p.placed[i] {
			if p.placed[i][j].Path == path {
				return true
			}
		}
	}
	return false
}

// patched writes the content of a patched file to dst.
func (p *Plan) patched(store *cache.Store, op *Op, dst io.Writer) (content, error) {
	where := func(err error) error {
		return fmt.Errorf("package %s, file %s: %w", label(p.Packages[op.Owner]), op.Source, err)
	}
	src, err := store.OpenEntry(entryOf(op))
	if err != nil {
		return content{}, where(err)
	}
	defer src.Close() // only read
	source, out := sha256.New(), &summing{w: dst, h: sha256.New()}
	in := io.TeeReader(src, source)
	if err = p.rewrite(out, in, op); err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if err != nil && !errors.Is(err, errPlaceholder) {
		return content{}, where(err)
	}
	if got := hex.EncodeToString(source.Sum(nil)); err != nil || got != op.SHA256 {
		return content{}, where(fmt.Errorf("%w: the pool's file of %s is damaged; next: remove it and the package's manifest in pool/packages, and prepare again", cache.ErrIntegrity, op.SHA256))
	}
	return content{SHA256: hex.EncodeToString(out.h.Sum(nil)), Size: out.n}, nil
}

// Differences tells where t is not as want, sorted by path.
func (t *Tree) Differences(want *Tree) []Difference {
	is, must := t.sorted(), want.sorted()
	var out []Difference
	add := func(path, what string) { out = append(out, Difference{Path: path, What: what}) }
	for len(is) > 0 || len(must) > 0 {
		switch {
		case len(must) == 0 || len(is) > 0 && is[0].path < must[0].path:
			add(is[0].path, is[0].text()+", but nothing is planned there")
			is = is[1:]
		case len(is) == 0 || must[0].path < is[0].path:
			if must[0].value != anything || must[0].kind != 'f' {
				add(must[0].path, "missing, should be "+must[0].text())
			}
			must = must[1:]
		default:
			if any := must[0].value == anything && is[0].kind == 'f' && must[0].kind == 'f' && is[0].exec == must[0].exec; !any && is[0] != must[0] {
				add(is[0].path, is[0].text()+", should be "+must[0].text())
			}
			is, must = is[1:], must[1:]
		}
	}
	return out
}

func (t *Tree) sorted() []line {
	lines := append([]line(nil), t.lines...)
	sort.Slice(lines, func(i, j int) bool { return lines[i].path < lines[j].path })
	return lines
}

// text is a line in words.
func (l *line) text() string {
	switch l.kind {
	case 'd':
		return "a directory"
	case 'l':
		return fmt.Sprintf("a link to %q", l.value)
	case 'f':
		if l.value == anything {
			return "a file"
		}
		if l.exec {
			return "an executable file with sha256 " + l.value
		}
		return "a file with sha256 " + l.value
	}
	return "unreadable (" + l.value + ")"
}

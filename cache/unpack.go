package cache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache/archive"
)

const (
	// smallFile is the size up to which a file is hashed in memory before it
	// is written, so that what the pool has costs no write.
	smallFile = 1 << 20
	// keepInfo bounds the bytes of info/ that wait in memory.
	keepInfo = 64 << 20
)

// item is one member while its archive is unpacked.
type item struct {
	entry Entry
	// same is the earlier member that this one repeats (a tar hard link).
	same *item
	// kept is the content of a small file of info/, not in the pool.
	kept []byte
	// elf: the content begins as an ELF file.
	elf bool
}

// unpacker collects an archive's members and brings their contents into the
// pool: contents go to names made of their digest, never to a member's name, so
// that no name or link in an archive decides where anything is written.
type unpacker struct {
	s     *Store
	dir   string // below tmp/, for unfinished files
	exact bool   // files in dir get the mode asked for
	files int
	info  int64 // bytes kept
	group *errgroup.Group
	last  map[string]*item // by path; the last of duplicates wins
	twice map[string]bool  // paths of files and links that came more than once
}

// unpack reads the archive at r and returns its members by path, and what is
// worth a note.
func (s *Store) unpack(ctx context.Context, r io.ReaderAt, size int64, format ArchiveFormat) (_ map[string]*item, notes []string, err error) {
	if format == FormatWheel {
		return s.unpackWheel(ctx, r, size)
	}
	dir, err := s.TempDir("unpack")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil && err == nil {
			err = storeError("remove", dir, rerr)
		}
	}()
	exact, err := exactModesIn(dir)
	if err != nil {
		return nil, nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0) + 1)
	u := &unpacker{s: s, dir: dir, exact: exact, group: group, last: map[string]*item{}, twice: map[string]bool{}}
	lim := archive.LimitsFor(size)
	lim.Memory = &s.memory
	switch format {
	case FormatConda:
		err = archive.ReadConda(ctx, r, size, lim, u.visit)
	case FormatTarBz2:
		err = archive.ReadTarBz2With(ctx, s.bzip2, r, size, lim, u.visit)
	case FormatTarGz:
		err = archive.ReadTarGz(ctx, r, size, lim, u.visit)
	case FormatTarZst:
		err = archive.ReadTarZst(ctx, r, size, lim, u.visit)
	default:
		err = fmt.Errorf("archive format %q is not supported", format)
	}
	// The writers' error is the cause if it ended the reading.
	if werr := group.Wait(); werr != nil {
		err = werr
	}
	if err != nil {
		return nil, nil, err
	}
	for _, it := range u.last {
		if src := it.same; src != nil {
			path := it.entry.Path
			it.entry, it.kept = src.entry, src.kept
			it.entry.Path = path
		}
	}
	return u.last, u.repeated(), checkTree(u.last)
}

// repeated notes which members came more than once, a few of them by name.
func (u *unpacker) repeated() []string {
	const named = 5
	paths := slices.Sorted(maps.Keys(u.twice))
	if len(paths) == 0 {
		return nil
	}
	more := ""
	if len(paths) > named {
		more = " …"
	}
	return []string{fmt.Sprintf("%d members are in the archive more than once, the last counts: %s%s",
		len(paths), strings.Join(paths[:min(named, len(paths))], ", "), more)}
}

func (u *unpacker) visit(m archive.Member, content io.Reader) error {
	it := &item{entry: Entry{Path: m.Path}}
	switch m.Kind {
	case archive.Dir:
		it.entry.Type = EntryDir
	case archive.Link:
		it.entry.Type, it.entry.Target = EntryLink, m.Target
	case archive.Same:
		if err := u.repeat(it, m.Target); err != nil {
			return err
		}
	case archive.File:
		it.entry.Type, it.entry.Exec, it.entry.Size, it.entry.Time = EntryFile, m.Exec, m.Size, m.Time
		if err := u.file(it, content); err != nil {
			return err
		}
	}
	if before := u.last[m.Path]; before != nil && (m.Kind != archive.Dir || before.entry.Type != EntryDir) {
		u.twice[m.Path] = true
	}
	u.last[m.Path] = it
	return nil
}

// repeat resolves a tar hard link: to an earlier regular file of this archive,
// or to a symbolic link of it, whose text it then shares.
func (u *unpacker) repeat(it *item, target string) error {
	src := u.last[target]
	if src == nil || src.entry.Type == EntryDir {
		return fmt.Errorf("%w: hard link %q to %q, which is no earlier file of the archive", ErrUnsafe, it.entry.Path, target)
	}
	if src.same != nil {
		src = src.same
	}
	it.same = src
	it.entry.Type = src.entry.Type
	return nil
}

func (u *unpacker) file(it *item, content io.Reader) error {
	e := &it.entry
	if e.Size == 0 {
		e.SHA256 = emptySHA256
		return nil
	}
	u.files++
	temp := filepath.Join(u.dir, strconv.Itoa(u.files))
	if e.Size > smallFile {
		in := &beginning{r: content}
		digest, err := u.s.poolStream(temp, in, e.Size, e.Exec)
		e.SHA256, it.elf = digest, isELF(in.head[:])
		return err
	}
	block := takeBlock(int(e.Size))
	data := *block
	if _, err := io.ReadFull(content, data); err != nil {
		return err
	}
	it.elf = isELF(data)
	if strings.HasPrefix(e.Path, "info/") && u.info+e.Size <= keepInfo {
		u.info += e.Size
		e.SHA256 = digestOf(data)
		it.kept = bytes.Clone(data)
		blocks.Put(block)
		return nil
	}
	u.group.Go(func() error {
		defer blocks.Put(block)
		e.SHA256 = digestOf(data)
		return u.s.poolWriteIn(temp, data, e.SHA256, e.Exec, u.exact)
	})
	return nil
}

// blocks are what contents of small files are read into, used again: to clear and to
// collect new ones costs a cold store a tenth of its time.
var blocks sync.Pool

// takeBlock returns a block of so many bytes, with anything in it.
func takeBlock(size int) *[]byte {
	block, _ := blocks.Get().(*[]byte)
	if block == nil {
		block = new([]byte)
	}
	if cap(*block) < size {
		*block = make([]byte, size, 1<<bits.Len(uint(size-1)))
	}
	*block = (*block)[:size]
	return block
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// checkTree refuses an archive one of whose members lies below another that is
// no directory: whoever placed such entries would write through a link.
func checkTree(items map[string]*item) error {
	for path, it := range items {
		for dir := path; ; {
			i := strings.LastIndexByte(dir, '/')
			if i < 0 {
				break
			}
			dir = dir[:i]
			if up := items[dir]; up != nil && up.entry.Type != EntryDir {
				return fmt.Errorf("%w: member %q lies below %q, which is a %s", ErrUnsafe, it.entry.Path, dir, up.entry.Type)
			}
		}
	}
	return nil
}

// sorted returns the members' entries, sorted by path.
func sorted(items map[string]*item) []Entry {
	entries := make([]Entry, 0, len(items))
	for _, it := range items {
		entries = append(entries, it.entry)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return entries
}

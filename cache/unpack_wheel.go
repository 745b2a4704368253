package cache

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache/archive"
)

// unpackWheel is unpack for wheels: their members are unpacked at once.
func (s *Store) unpackWheel(ctx context.Context, r io.ReaderAt, size int64) (_ map[string]*item, notes []string, err error) {
	members, err := archive.OpenWheel(ctx, r, size, archive.LimitsFor(size))
	if err != nil {
		return nil, nil, err
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
	items := make([]*item, len(members))
	keep := int64(keepInfo)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0) + 1)
	for _, i := range largestFirst(members) {
		if inner.Err() != nil {
			break
		}
		m := &members[i]
		kept := waits(m.Path) && m.Size <= smallFile && m.Size <= keep
		if kept {
			keep -= m.Size
		}
		items[i] = &item{entry: Entry{Path: m.Path, Type: EntryDir}}
		if m.Kind != archive.File {
			continue
		}
		items[i].entry = Entry{Path: m.Path, Type: EntryFile, Exec: m.Exec || inScripts(m.Path), Size: m.Size}
		group.Go(func() error {
			return s.wheelFile(inner, m, items[i], filepath.Join(dir, strconv.Itoa(i)), kept)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, context.Cause(ctx)
	}
	return merge(items)
}

// largestFirst orders the members: what takes longest must not start last.
func largestFirst(members []archive.WheelMember) []int {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := members[a].Size, members[b].Size; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return order
}

// inScripts: the file is one of those that are executable wherever they are put,
// whatever mode the archive has for them.
func inScripts(path string) bool {
	top, rest, _ := strings.Cut(path, "/")
	return strings.HasSuffix(top, ".data") && strings.HasPrefix(rest, "scripts/")
}

// waits: the file is not placed as it is, as a rule.
func waits(path string) bool {
	top, rest, _ := strings.Cut(path, "/")
	return inScripts(path) || strings.HasSuffix(top, ".dist-info") && rest == "RECORD"
}

// wheelFile brings a member's content into the pool, or into memory if it is to
// be kept there.
func (s *Store) wheelFile(ctx context.Context, m *archive.WheelMember, it *item, temp string, kept bool) (err error) {
	e := &it.entry
	content, err := m.Content(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := content.Close(); cerr != nil && err == nil {
			err = fmt.Errorf("%w: member %q: %w", ErrIntegrity, m.Path, cerr)
		}
	}()
	if e.Size > smallFile {
		in := &beginning{r: content}
		e.SHA256, err = s.poolStream(temp, in, e.Size, e.Exec)
		it.elf = isELF(in.head[:])
		return err
	}
	// The checksum is looked at when the content's end is read.
	data, err := io.ReadAll(content)
	switch {
	case err != nil:
		return err
	case len(data) == 0:
		e.SHA256 = emptySHA256
		return nil
	}
	e.SHA256, it.elf = digestOf(data), isELF(data)
	if kept {
		it.kept = data
		return nil
	}
	return s.poolWrite(temp, data, e.SHA256, e.Exec)
}

// merge brings members together by path. What an archive has twice must be the
// same both times: which of two counts, programs do not agree on.
func merge(items []*item) (map[string]*item, []string, error) {
	out := make(map[string]*item, len(items))
	twice := map[string]bool{}
	for _, it := range items {
		before := out[it.entry.Path]
		switch {
		case before == nil:
			out[it.entry.Path] = it
		case before.entry.Type != it.entry.Type || before.entry.SHA256 != it.entry.SHA256 || before.entry.Exec != it.entry.Exec:
			return nil, nil, fmt.Errorf("%w: member %q is in the archive twice, and the two differ", ErrUnsafe, it.entry.Path)
		case it.entry.Type == EntryFile:
			twice[it.entry.Path] = true
		}
	}
	if err := checkTree(out); err != nil {
		return nil, nil, err
	}
	return out, repeatedNote(slices.Sorted(maps.Keys(twice))), nil
}

// repeatedNote notes members that came twice with one content, a few by name.
func repeatedNote(paths []string) []string {
	const named = 5
	if len(paths) == 0 {
		return nil
	}
	more := ""
	if len(paths) > named {
		more = " …"
	}
	return []string{fmt.Sprintf("%d members are in the archive twice, with the same content: %s%s",
		len(paths), strings.Join(paths[:min(named, len(paths))], ", "), more)}
}

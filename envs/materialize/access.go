package materialize

import (
	"fmt"
	"io/fs"
	"syscall"
)

// odd says in words what is wrong with who may do what to a path of a published
// tree: all may read it (and run or list it, if anybody may), its owner alone
// writes, and that is the owner of the tree. "" = nothing. Of links only the owner
// counts. readers are who shall read it: 0o777, or 0o770 without others.
func odd(info fs.FileInfo, owner uint32, readers fs.FileMode) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != owner {
		return fmt.Sprintf("it belongs to uid %d, the tree to uid %d", st.Uid, owner)
	}
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 {
		return ""
	}
	perm, all := mode.Perm(), fs.FileMode(0o444)
	if perm&0o111 != 0 || mode.IsDir() {
		all = 0o555
	}
	all &= readers
	switch {
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 && !mode.IsDir(), mode&fs.ModeSetuid != 0:
		return fmt.Sprintf("its mode is %v: it runs as somebody else", mode)
	case perm&0o022 != 0:
		return fmt.Sprintf("its mode is %#o: others than its owner may write to it", perm)
	case perm&all != all:
		return fmt.Sprintf("its mode is %#o, without %#o for all", perm, all)
	}
	return ""
}

// OddFile says in words what is wrong with who may do what to a file of the store
// that everybody with a way to it reads, and that belongs to owner. "" = nothing.
func OddFile(info fs.FileInfo, owner uint32) string {
	if uid := ownerOf(info); uid != owner {
		return fmt.Sprintf("it belongs to uid %d, the store to uid %d", uid, owner)
	}
	return odd(info, owner, 0o777)
}

// ownerOf is the uid that a file belongs to.
func ownerOf(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return 0
}

// look notes what is odd about a path.
func (t *Tree) look(path string, d fs.DirEntry) {
	info, err := d.Info()
	if err != nil {
		return // reading it tells
	}
	if path == "." {
		t.owner, t.root = ownerOf(info), info
		return
	}
	if what := odd(info, t.owner, 0o777); what != "" {
		t.odd = append(t.odd, Difference{Path: path, What: what})
	}
}

// Odd tells of paths that others than their owner could change, or not read,
// sorted by path: no digest covers that. ofGroup: the tree lies in a group's part of
// the store, and others need not get into it.
func (t *Tree) Odd(ofGroup bool) []Difference {
	readers := fs.FileMode(0o777)
	if ofGroup {
		readers = 0o770
	}
	if t.root == nil {
		return t.odd
	}
	if what := odd(t.root, t.owner, readers); what != "" {
		return append([]Difference{{Path: ".", What: what}}, t.odd...)
	}
	return t.odd
}

// File is the sha256 of a file of the tree; "" = there is no file.
func (t *Tree) File(path string) string {
	for i := range t.lines {
		if l := &t.lines[i]; l.path == path && l.kind == 'f' {
			return l.value
		}
	}
	return ""
}

package oracle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Node is one path of a prefix.
type Node struct {
	// Type is "directory", "file", "link" or what else the file system calls it.
	Type string
	// Exec: any executable bit of a file is set.
	Exec bool
	// SHA256 and Size of a file; Link is a link's text.
	SHA256 string
	Size   int
	Link   string
	// data is the content, if it is not long.
	data []byte
}

// kept is the length of the longest content that is kept to be shown, and shown
// how much of it a difference shows, in bytes.
const (
	kept  = 1 << 20
	shown = 160
)

// content describes a file beside another, from a little before the first byte
// in which they differ.
func (n Node) content(other Node) string {
	at := 0
	for at < len(n.data) && at < len(other.data) && n.data[at] == other.data[at] {
		at++
	}
	from := min(max(0, at-shown/2), len(n.data))
	return fmt.Sprintf("sha256 %s, %d bytes, from %d: %q", n.SHA256, n.Size, from, n.data[from:min(from+shown, len(n.data))])
}

// Tree reads everything below root, by path relative to it.
func Tree(root string) (map[string]Node, error) {
	out := make(map[string]Node)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		n := Node{Type: d.Type().String()}
		switch {
		case d.IsDir():
			n.Type = "directory"
		case d.Type() == fs.ModeSymlink:
			n.Type = "link"
			n.Link, err = os.Readlink(p)
		case d.Type().IsRegular():
			n.Type = "file"
			err = n.read(p)
		}
		out[filepath.ToSlash(rel)] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", root, err)
	}
	return out, nil
}

func (n *Node) read(p string) error {
	st, err := os.Lstat(p)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(p)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	n.Exec = st.Mode()&0o111 != 0
	n.SHA256, n.Size = hex.EncodeToString(sum[:]), len(data)
	if len(data) <= kept {
		n.data = data
	}
	return nil
}

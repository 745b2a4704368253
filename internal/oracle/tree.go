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
	// Content is a file's sha256 with the beginning of what it holds; Link is a
	// link's text.
	Content, Link string
}

// shown is how much of a file a difference shows, in bytes.
const shown = 200

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
	n.Content = fmt.Sprintf("%s, %d bytes: %q", hex.EncodeToString(sum[:]), len(data), data[:min(shown, len(data))])
	return nil
}

// Package factstest has recorded nodes: trees of the files that package facts
// reads, for its own tests, for tests that need unlike nodes, and for the
// development cluster's (hooks/facts/factstree unpacks one).
//
// A tree is a txtar archive below trees/. Its files are the node's; its comment
// has prose (# …) and, one a line, what an archive cannot hold:
//
//	include NAME             another tree first
//	file PATH TEXT           a file of one line
//	link PATH TARGET         a symbolic link
//	dir PATH                 an empty directory
//	mode MODE PATH           the mode of a file made before
//	unreadable PATH          something there that is not to be read (a directory)
//	remove PATH              what an included tree brought
//	libc RELEASE MACHINE PATH   a C library of that release
//
// A device node is an empty file: who can open it is its mode.
package factstest

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed trees/*.txtar
var trees embed.FS

// Names of all trees, sorted.
func Names() []string {
	entries, err := trees.ReadDir("trees")
	if err != nil { // it is part of the program
		panic(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txtar"))
	}
	slices.Sort(names)
	return names
}

// Tree unpacks a tree into a directory of the test's and returns it.
func Tree(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := Unpack(name, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Unpack writes a tree into a directory, which is made if it is not there.
func Unpack(name, dir string) error {
	b, err := trees.ReadFile("trees/" + name + ".txtar")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("factstest: there is no tree %q; there are %s", name, strings.Join(Names(), ", "))
	}
	if err != nil {
		return err
	}
	if err := UnpackText(b, dir); err != nil {
		return fmt.Errorf("factstest: tree %s: %w", name, err)
	}
	return nil
}

// UnpackText writes a tree that is given as text.
func UnpackText(text []byte, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ar := txtar.Parse(text)
	var files [2][][]string // includes go before the archive's files, the rest after
	for line := range strings.Lines(string(ar.Comment)) {
		w := strings.Fields(line)
		if len(w) == 0 || strings.HasPrefix(w[0], "#") {
			continue
		}
		if w[0] == "file" && len(w) > 2 { // its text as it is
			_, rest, _ := strings.Cut(strings.TrimSpace(line), w[1])
			w = []string{"file", w[1], strings.TrimSpace(rest)}
		}
		when := 1
		if w[0] == "include" {
			when = 0
		}
		files[when] = append(files[when], w)
	}
	for _, w := range files[0] {
		if err := directive(dir, w); err != nil {
			return err
		}
	}
	for _, f := range ar.Files {
		if err := write(dir, f.Name, f.Data); err != nil {
			return err
		}
	}
	for _, w := range files[1] {
		if err := directive(dir, w); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(w, " "), err)
		}
	}
	return nil
}

func write(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	if strings.HasPrefix(strings.TrimPrefix(name, "/"), "dev/") {
		return os.Chmod(path, 0o666)
	}
	return nil
}

func directive(dir string, w []string) error {
	if len(w) < 2 {
		return errors.New("what of?")
	}
	at := filepath.Join(dir, w[len(w)-1])
	switch {
	case w[0] == "include" && len(w) == 2:
		return Unpack(w[1], dir)
	case w[0] == "file":
		text := ""
		if len(w) > 2 {
			text = w[2] + "\n"
		}
		return write(dir, w[1], []byte(text))
	case w[0] == "link" && len(w) == 3:
		at = filepath.Join(dir, w[1])
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		return os.Symlink(w[2], at)
	case w[0] == "dir" && len(w) == 2:
		return os.MkdirAll(at, 0o755)
	case w[0] == "mode" && len(w) == 3:
		mode, err := strconv.ParseUint(w[1], 8, 9)
		if err != nil {
			return err
		}
		return os.Chmod(at, fs.FileMode(mode))
	case w[0] == "unreadable" && len(w) == 2:
		if err := os.RemoveAll(at); err != nil {
			return err
		}
		return os.MkdirAll(at, 0o755)
	case w[0] == "remove" && len(w) == 2:
		if _, err := os.Lstat(at); err != nil {
			return err
		}
		return os.RemoveAll(at)
	case w[0] == "libc" && len(w) == 4:
		lib, err := LibC(w[2], w[1], releases(w[1])...)
		if err != nil {
			return err
		}
		return write(dir, w[3], lib)
	}
	return errors.New("no directive of a tree")
}

package activation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ShadowName remembers which LD_LIBRARY_PATH was warned about: what inherits the
// variable is not told again. (What a batch script sets, each of its steps tells
// once.)
const ShadowName = "HPCENV_SHADOWED"

const (
	// shadowTime bounds the look at foreign directories: one may lie on storage
	// that hangs.
	shadowTime = 2 * time.Second
	// shadowEntries bounds the names of one directory that are looked at.
	shadowEntries = 4096
	// shadowShown bounds the warnings; the others are counted.
	shadowShown = 3
)

// warnShadow appends to notes what LD_LIBRARY_PATH hides of the environment's
// libraries, and remembers that it was said.
func warnShadow(ctx context.Context, e *environ, prefix string, notes []string) []string {
	list, _ := e.get("LD_LIBRARY_PATH")
	if list == "" {
		e.unset(ShadowName)
		return notes
	}
	sum := sha256.Sum256([]byte(prefix + "\x00" + list))
	said := hex.EncodeToString(sum[:8])
	if before, _ := e.get(ShadowName); before == said {
		return notes
	}
	found := shadowed(ctx, list, filepath.Join(prefix, "lib"))
	if len(found) == 0 {
		e.unset(ShadowName)
		return notes
	}
	e.set(ShadowName, said)
	for i, f := range found {
		if i == shadowShown {
			notes = append(notes, fmt.Sprintf("LD_LIBRARY_PATH hides %d more libraries of the environment", len(found)-i))
			break
		}
		notes = append(notes, fmt.Sprintf("LD_LIBRARY_PATH puts %s before the environment's %s; if programs fail, take %s out of it", f[0], f[1], filepath.Dir(f[0])))
	}
	return notes
}

// shadowed are libraries of directories of a search path that have the names of
// libraries in lib: pairs of theirs and ours. Directories behind lib itself do
// not matter. It gives up, with what it has not found, after shadowTime.
func shadowed(ctx context.Context, list, lib string) [][2]string {
	ctx, cancel := context.WithTimeout(ctx, shadowTime)
	defer cancel()
	done := make(chan [][2]string, 1)
	go func() { done <- findShadowed(list, lib) }()
	select {
	case found := <-done:
		return found
	case <-ctx.Done():
		return nil
	}
}

func findShadowed(list, lib string) (found [][2]string) {
	seen := map[string]bool{}
	for _, dir := range strings.Split(list, ":") {
		if !filepath.IsAbs(dir) {
			continue // relative to where programs will run
		}
		if dir = filepath.Clean(dir); dir == lib {
			return found
		}
		for _, name := range libraries(dir) {
			theirs, ours := filepath.Join(dir, name), filepath.Join(lib, name)
			if !seen[name] && differ(theirs, ours) {
				seen[name] = true
				found = append(found, [2]string{theirs, ours})
			}
		}
	}
	return found
}

// libraries are the names of shared libraries as programs ask for them
// (libNAME.so.N) in a directory; none if it cannot be read.
func libraries(dir string) (names []string) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, err := f.Readdirnames(shadowEntries)
	if err != nil {
		return nil
	}
	for _, n := range all {
		base, number, ok := strings.Cut(n, ".so.")
		if ok && strings.HasPrefix(base, "lib") && number != "" && strings.Trim(number, "0123456789") == "" {
			names = append(names, n)
		}
	}
	return names
}

// differ: both files are there and are not the same one.
func differ(a, b string) bool {
	y, err := os.Stat(b)
	if err != nil || y.IsDir() {
		return false
	}
	x, err := os.Stat(a)
	return err == nil && !x.IsDir() && !os.SameFile(x, y)
}

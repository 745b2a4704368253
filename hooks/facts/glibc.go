package facts

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// maxLibrary bounds what is read of libc.so.6, which has about 2 MB.
const maxLibrary = 32 << 20

// abi is where a machine's C library is and how its files look.
type abi struct {
	elf     elf.Machine
	loaders []string
	triplet string
}

var abis = map[string]abi{
	"x86_64":  {elf.EM_X86_64, []string{"/lib64/ld-linux-x86-64.so.2"}, "x86_64-linux-gnu"},
	"aarch64": {elf.EM_AARCH64, []string{"/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-aarch64.so.1"}, "aarch64-linux-gnu"},
}

// libraryDirs are a machine's usual directories of libraries.
func libraryDirs(machine string) []string {
	dirs := []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib"}
	if a, ok := abis[machine]; ok {
		dirs = append([]string{"/lib/" + a.triplet, "/usr/lib/" + a.triplet}, dirs...)
	}
	return dirs
}

// readGlibc reads the version from the C library that the machine's loader
// belongs to, or else from the first in the usual directories.
func readGlibc(_ context.Context, h host) part {
	a, ok := abis[h.machine]
	if !ok {
		return part{problems: []string{"hpcenv does not know where " + orUnknown(h.machine) + " has its C library"}}
	}
	var candidates []string
	for _, l := range a.loaders {
		// Where the loader really lies, its C library lies beside it.
		if at, err := h.resolve(l); err == nil {
			candidates = append(candidates, path.Join(path.Dir(at), "libc.so.6"))
		}
	}
	for _, d := range libraryDirs(h.machine) {
		candidates = append(candidates, d+"/libc.so.6")
	}
	var problems []string
	for _, file := range candidates {
		version, err := libcVersion(h.tree, file, a.elf)
		switch {
		case err == nil:
			return part{set: func(f *Facts) { f.Glibc = version }}
		case !errors.Is(err, fs.ErrNotExist):
			add(&problems, fmt.Sprintf("%s: %v", file, err))
		}
	}
	if len(problems) == 0 {
		problems = []string{"no libc.so.6 in the usual directories"}
		for _, d := range []string{"/lib/", "/usr/lib/"} {
			if musl := d + "ld-musl-" + h.machine + ".so.1"; h.exists(musl) {
				problems = []string{"the C library is musl (" + musl + ")"}
				break
			}
		}
	}
	return part{problems: problems}
}

func orUnknown(machine string) string {
	if machine == "" {
		return "an unknown machine"
	}
	return machine
}

// libcVersion reads major.minor from one libc.so.6.
func libcVersion(t tree, name string, machine elf.Machine) (string, error) {
	f, err := t.open(name)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxLibrary))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", t.own(err, name)
	}
	return glibcVersion(b, machine)
}

// glibcVersion is the highest GLIBC_x.y that a C library defines. A release that
// added no symbol defines none of its own: then the banner, which names the
// release, says more.
func glibcVersion(lib []byte, machine elf.Machine) (version string, err error) {
	defer func() { // debug/elf is not made for files that lie
		if v := recover(); v != nil {
			version, err = "", fmt.Errorf("no readable ELF file: %v", v)
		}
	}()
	f, err := elf.NewFile(bytes.NewReader(lib))
	if err != nil {
		return "", err
	}
	if f.Machine != machine {
		return "", fmt.Errorf("it is for %v", f.Machine)
	}
	versions, err := f.DynamicVersions()
	if err != nil {
		return "", err
	}
	var best [2]int
	for _, v := range versions {
		if n, ok := majorMinor(strings.TrimPrefix(v.Name, "GLIBC_")); ok && strings.HasPrefix(v.Name, "GLIBC_") && less(best, n) {
			best = n
		}
	}
	if best == [2]int{} {
		return "", errors.New("it defines no GLIBC_ version")
	}
	if n := banner(lib); n[0] == best[0] && less(best, n) {
		best = n
	}
	return fmt.Sprintf("%d.%d", best[0], best[1]), nil
}

// banner is the release in "GNU C Library (…) stable release version 2.36."; zeros
// if there is none.
func banner(lib []byte) [2]int {
	_, after, ok := bytes.Cut(lib, []byte("GNU C Library "))
	if !ok {
		return [2]int{}
	}
	after = after[:min(len(after), 200)]
	_, text, ok := bytes.Cut(after, []byte(" release version "))
	if !ok {
		return [2]int{}
	}
	end := bytes.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(text)
	}
	n, _ := majorMinor(strings.TrimRight(string(text[:end]), "."))
	return n
}

// majorMinor reads the first two of the numbers in a version.
func majorMinor(s string) (n [2]int, ok bool) {
	words := strings.SplitN(s, ".", 3)
	if len(words) < 2 {
		return n, false
	}
	for i := range n {
		v, err := strconv.ParseUint(words[i], 10, 16)
		if err != nil {
			return [2]int{}, false
		}
		n[i] = int(v)
	}
	return n, true
}

func less(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

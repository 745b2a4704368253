package recipe

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
)

// elfFacts are what matters of an ELF file here.
type elfFacts struct {
	machine elf.Machine
	needed  []string
	// glibc is the newest symbol version of the C library, "2.34"; "" = none.
	glibc string
}

// readELF returns nil for what is not a dynamic ELF file.
func readELF(f *condapkg.File) (*elfFacts, error) {
	if !bytes.HasPrefix(f.Data, []byte(elf.ELFMAG)) {
		return nil, nil
	}
	e, err := elf.NewFile(bytes.NewReader(f.Data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if e.Type != elf.ET_DYN && e.Type != elf.ET_EXEC {
		return nil, nil
	}
	needed, err := e.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	facts := &elfFacts{machine: e.Machine, needed: needed}
	symbols, err := e.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	for _, s := range symbols {
		if v, ok := strings.CutPrefix(s.Version, "GLIBC_"); ok && newer(v, facts.glibc) {
			facts.glibc = v
		}
	}
	return facts, nil
}

// newer compares dotted numbers; what is no number is older.
func newer(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := 0; i < len(x) || i < len(y); i++ {
		if n, m := number(x, i), number(y, i); n != m {
			return n > m
		}
	}
	return false
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return -1
	}
	n, err := strconv.Atoi(parts[i])
	if err != nil {
		return -1
	}
	return n
}

// relocate gives a dynamic ELF file an RPATH that leads from its own directory
// to the prefix's lib. RPATH rather than RUNPATH, as conda's own packages have
// it: it holds for the libraries' own libraries too.
func relocate(ctx context.Context, f *condapkg.File, arch Arch) error {
	rel, err := filepath.Rel(path.Dir(f.Path), "lib")
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	rpath := "$ORIGIN"
	if rel != "." {
		rpath += "/" + rel
	}
	dir, err := os.MkdirTemp("", "hpcenv-demo-elf-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, path.Base(f.Path))
	if err := os.WriteFile(name, f.Data, 0o700); err != nil {
		return err
	}
	args := []string{"--force-rpath", "--set-rpath", rpath}
	if arch.PageSize != "" {
		args = append(args, "--page-size", arch.PageSize)
	}
	if out, err := exec.CommandContext(ctx, "patchelf", append(args, name)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: patchelf (Debian package patchelf): %w: %s", f.Path, err, out)
	}
	f.Data, err = os.ReadFile(name)
	return err
}

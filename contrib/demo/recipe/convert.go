package recipe

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
	"github.com/hpcenv/hpcenv/contrib/demo/debian"
)

// version is part of every build string; raise it when packages change while
// the Debian packages do not.
const version = "2"

// Timestamp of all packages, in milliseconds: a fixed day, so that the same
// Debian packages always give the same archives.
const Timestamp = 1686355200000

// Source is a Debian package to convert.
type Source struct {
	Arch   Arch
	Stanza *debian.Stanza
	// Needs are the Debian names it depends on, without those that Stop ends.
	Needs []string
	// File is the .deb.
	File string
}

// Convert makes the conda package of a Debian package.
func Convert(ctx context.Context, src Source, py string) (*condapkg.Package, error) {
	entries, err := debian.Read(ctx, src.File)
	if err != nil {
		return nil, err
	}
	p := &condapkg.Package{
		Name: condaName(src.Stanza.Package, py), Version: condaVersion(src.Stanza), Subdir: src.Arch.Subdir,
		Timestamp: Timestamp, Summary: src.Stanza.Description,
	}
	l := &layout{arch: src.Arch, py: py}
	if src.Stanza.Architecture == "all" {
		p.Subdir, p.Noarch = "noarch", noarchKind(entries)
		l.noarch = p.Noarch
	}
	if err := l.convert(ctx, p, entries); err != nil {
		return nil, fmt.Errorf("Debian package %s: %w", src.Stanza.Package, err)
	}
	for _, n := range src.Needs {
		p.Depends = append(p.Depends, condaName(n, py))
	}
	l.finish(p, src, entries)
	p.BuildNumber = buildNumber(src.Stanza)
	p.Build = build(p, src.Stanza, py, wantsPython(src.Stanza))
	sort.Strings(p.Depends)
	return p, nil
}

// noarchKind: packages that hold site-packages are noarch python.
func noarchKind(entries []debian.Entry) string {
	for i := range entries {
		if strings.HasPrefix(entries[i].Path, "usr/lib/python3/dist-packages/") {
			return "python"
		}
	}
	return "generic"
}

// build strings look as conda's: py311h1234567_3, pyh1234567_3, h1234567_3.
func build(p *condapkg.Package, s *debian.Stanza, py string, python bool) string {
	sum := sha256.Sum256([]byte(version + " " + s.SHA256))
	tag := ""
	switch {
	case p.Noarch == "python":
		tag = "py"
	case python:
		tag = "py" + strings.ReplaceAll(py, ".", "")
	}
	return fmt.Sprintf("%sh%s_%d", tag, hex.EncodeToString(sum[:])[:7], p.BuildNumber)
}

// buildNumber is the leading number of the Debian revision.
func buildNumber(s *debian.Stanza) int {
	rev := s.Version[strings.LastIndexByte(s.Version, '-')+1:]
	n := 0
	for _, c := range rev {
		if c < '0' || c > '9' || n > 99 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// convert fills p.Files, licences and the C library's floor.
func (l *layout) convert(ctx context.Context, p *condapkg.Package, entries []debian.Entry) error {
	glibc, paths := "", make(map[string]bool, len(entries))
	for i := range entries {
		paths[entries[i].Path] = true
	}
	for i := range entries {
		e := &entries[i]
		if path.Base(e.Path) == "copyright" && strings.HasPrefix(e.Path, "usr/share/doc/") && e.Link == "" {
			p.Licenses = map[string][]byte{"copyright": e.Data}
		}
		f := condapkg.File{Path: l.target(e.Path), Executable: e.Executable, Data: e.Data}
		if f.Path == "" || l.twice(e.Path, paths) {
			continue
		}
		if e.Link != "" {
			if f.Link, f.Data = l.link(e), nil; f.Link != "" {
				p.Files = append(p.Files, f)
			}
			continue
		}
		facts, err := readELF(&f)
		if err != nil {
			return err
		}
		if facts != nil {
			if want := machine(l.arch); facts.machine != want {
				return fmt.Errorf("%s is for %v, not %v", f.Path, facts.machine, want)
			}
			if newer(facts.glibc, glibc) {
				glibc = facts.glibc
			}
			if f.Path == "bin/python"+l.py {
				err = editInterpreter(&f)
			}
			if err == nil && len(facts.needed) > 0 {
				err = relocate(ctx, &f, l.arch)
			}
		} else {
			err = l.edit(&f)
		}
		if err != nil {
			return err
		}
		p.Files = append(p.Files, f)
	}
	if glibc != "" {
		p.Depends = append(p.Depends, "__glibc >="+glibc+",<3.0.a0")
	}
	return nil
}

func machine(a Arch) elf.Machine {
	if a.Debian == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// dropDangling removes links whose target is in no package of the platform:
// they led to what was left out (documentation, Debian's own tools). A noarch
// package is judged with the packages of all platforms.
func dropDangling(packages []*condapkg.Package) {
	have := map[string]bool{} // "subdir/path"
	for _, p := range packages {
		for i := range p.Files {
			for name := p.Files[i].Path; name != "."; name = path.Dir(name) {
				have[p.Subdir+"/"+name] = true
			}
		}
	}
	for _, p := range packages {
		kept := p.Files[:0]
		for _, f := range p.Files {
			to := path.Join(path.Dir(f.Path), f.Link)
			ok := f.Link == "" || have[p.Subdir+"/"+to] || have["noarch/"+to]
			for _, a := range Platforms() {
				ok = ok || p.Subdir == "noarch" && have[a+"/"+to]
			}
			if ok {
				kept = append(kept, f)
			}
		}
		p.Files = kept
	}
}

package recipe

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
)

//go:embed files/prefix.c
var prefixC []byte

//go:embed files/hello.sh
var helloSh string

//go:embed files/activate-hello.sh
var activateHello []byte

//go:embed files/deactivate-hello.sh
var deactivateHello []byte

//go:embed files/activate-arch.sh
var activateArch []byte

//go:embed files/deactivate-arch.sh
var deactivateArch []byte

//go:embed files/activate-gex.sh
var activateGex []byte

//go:embed files/deactivate-gex.sh
var deactivateGex []byte

//go:embed files/compile.py
var compilePy []byte

// Names of the demo's own packages.
const (
	NamePrefix = "hpcenv-demo-prefix" // a binary with a compiled-in prefix
	NameHello  = "hpcenv-demo-hello"  // a script, a plain activation script
	NameArch   = "hpcenv-demo-arch"   // an activation script that asks the node
	NameEnv    = "hpcenv-demo-env"    // env_vars.d
	NameTool   = "hpcenv-demo-tool"   // noarch python with entry points
	NameGex    = "hpcenv-demo-gex"    // only in environment gex
)

// Own are the demo's own packages, for all architectures. probe is the content
// of probe.py, which hpcenv-demo-tool has as a module.
func Own(ctx context.Context, archs []Arch, probe []byte) ([]*condapkg.Package, error) {
	activation := func(name string, on, off []byte) []condapkg.File {
		return []condapkg.File{
			{Path: "etc/conda/activate.d/" + name + ".sh", Data: on},
			{Path: "etc/conda/deactivate.d/" + name + ".sh", Data: off},
		}
	}
	hello := append(activation(NameHello, activateHello, deactivateHello), condapkg.File{
		Path: "bin/" + NameHello, Executable: true,
		Data: []byte(strings.ReplaceAll(helloSh, "@PREFIX@", condapkg.Placeholder)),
	})
	list := []*condapkg.Package{
		{Name: NameHello, Noarch: "generic", Summary: "Says where it is installed", Files: hello},
		{Name: NameArch, Noarch: "generic", Summary: "Knows the node's architecture when activated",
			Files: activation(NameArch, activateArch, deactivateArch)},
		{Name: NameGex, Noarch: "generic", Summary: "Marks the environment gex",
			Files: activation(NameGex, activateGex, deactivateGex)},
		{Name: NameEnv, Noarch: "generic", Summary: "Variables as data", Files: []condapkg.File{
			envVars(NameEnv, `{"HPCENV_DEMO_DATA": "`+condapkg.Placeholder+`/share/hpcenv-demo", "HPCENV_DEMO_PLAIN": "a value with blanks"}`)}},
		{Name: NameTool, Noarch: "python", Summary: "The demo's probe as a command", Depends: []string{"python >=3.9"},
			EntryPoints: []string{"hpcenv-demo-probe = hpcenv_demo_tool.probe:main", "hpcenv-demo-where = hpcenv_demo_tool:where"},
			Files: []condapkg.File{
				{Path: "site-packages/hpcenv_demo_tool/__init__.py", Data: []byte("import sys\n\n\ndef where():\n    print(sys.prefix)\n")},
				{Path: "site-packages/hpcenv_demo_tool/probe.py", Data: probe},
				{Path: "site-packages/hpcenv_demo_tool/py.typed"},
				{Path: "python-scripts/hpcenv-demo-script", Executable: true,
					Data: []byte("#!" + condapkg.Placeholder + "/bin/python\nimport sys\nprint(sys.executable)\n")},
			}},
	}
	for _, a := range archs {
		p, err := prefixPackage(ctx, a)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	for _, p := range list {
		p.Version, p.BuildNumber, p.Timestamp, p.License = "1.0", 3, Timestamp, "Apache-2.0"
		if p.Noarch != "" {
			p.Subdir = "noarch"
		}
		p.Build = ownBuild(p)
	}
	return list, nil
}

func ownBuild(p *condapkg.Package) string {
	h := sha256.New()
	for _, f := range p.Files {
		fmt.Fprintf(h, "%s %v %s %d\n", f.Path, f.Executable, f.Link, len(f.Data))
		h.Write(f.Data)
	}
	tag := ""
	if p.Noarch == "python" {
		tag = "py"
	}
	return fmt.Sprintf("%sh%s_%d", tag, hex.EncodeToString(h.Sum(nil))[:7], p.BuildNumber)
}

// prefixPackage compiles prefix.c for one architecture.
func prefixPackage(ctx context.Context, a Arch) (*condapkg.Package, error) {
	dir, err := os.MkdirTemp("", "hpcenv-demo-c-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "prefix.c"), prefixC, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, a.Compiler, "-O2", "-s", "-Wl,--build-id=none", `-DPREFIX="`+condapkg.Placeholder+`"`, "-o", "prefix", "prefix.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("package %s: %s (Debian package gcc or gcc-aarch64-linux-gnu): %w: %s", NamePrefix, a.Compiler, err, out)
	}
	bin, err := os.ReadFile(filepath.Join(dir, "prefix"))
	if err != nil {
		return nil, err
	}
	f := condapkg.File{Path: "bin/" + NamePrefix, Executable: true, Data: bin}
	facts, err := readELF(&f)
	if err != nil {
		return nil, err
	}
	if facts == nil || facts.machine != machine(a) {
		return nil, fmt.Errorf("package %s: %s made no program for %s", NamePrefix, a.Compiler, a.Subdir)
	}
	return &condapkg.Package{
		Name: NamePrefix, Subdir: a.Subdir, Summary: "Prints its compiled-in prefix",
		Depends: []string{"__glibc >=" + facts.glibc + ",<3.0.a0"},
		Files: []condapkg.File{
			f,
			{Path: "share/hpcenv-demo/empty"},
			{Path: "share/hpcenv-demo/copied.txt", Data: []byte("copied, never linked\n"), NoLink: true},
			{Path: "share/hpcenv-demo/program", Link: "../../bin/" + NamePrefix},
		},
	}, nil
}

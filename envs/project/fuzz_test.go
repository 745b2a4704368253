package project

import (
	"errors"
	"testing"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// FuzzManifest: any bytes are a project or an error of the class, and a
// project can be asked about all its environments.
func FuzzManifest(f *testing.F) {
	f.Add("[workspace]\nplatforms=[\"linux-64\",{name=\"g\",platform=\"linux-64\",cuda=\"12\"}]\n[target.g.activation.env]\nA=\"1\"\n")
	f.Add("a.b.c=1\n[[x.y]]\nz={q=[1,{r='s'}]}\n[x.y.w]\nv=1\n")
	f.Add("[workspace]\nchannels=[\"a\",{channel=\"b\",priority=1}]\n[dependencies]\np={version=\"1\",build=\"x*\"}\n[pypi-dependencies]\nq={version=\">=1\",env-markers=\"sys_platform=='linux'\"}\n[tasks]\nt={cmd=\"x\",args=[{arg=\"a\",default=\"b\"}],depends-on=[\"u\"]}\nu=[\"t\"]\n[system-requirements]\ncuda=\"12\"")
	f.Add("[project]\ndependencies=[\"a>1\"]\n[dependency-groups]\nd=[\"b\",{include-group=\"d\"}]\n[tool.hpcenv]\nenvironments=[\"default\"]")
	f.Add("[feature.x.activation]\nscripts=[\"a\"]\n[environments]\ne={features=[\"x\"],no-default-feature=true}\n")
	f.Fuzz(func(t *testing.T, data string) {
		tree, err := tomltree.Parse([]byte(data))
		if err != nil {
			return
		}
		for _, m := range []*manifest{{file: "pixi.toml", root: tree, tool: tree.Get("tool", "hpcenv")}, {file: "pyproject.toml", root: tree, pyproject: tree}} {
			var p *Project
			p, err = m.read("/nowhere")
			if err == nil {
				for _, env := range p.Environments() {
					features, err := p.featuresOf(env)
					if err != nil {
						t.Fatal(err)
					}
					if len(p.mergeAll(features)) == 0 {
						t.Fatal("an environment without an outcome")
					}
					askAll(t, p, env)
				}
			}
			if err != nil && !errors.Is(err, ErrManifest) {
				t.Fatal(err)
			}
		}
	})
}

// askAll asks everything about an environment.
func askAll(t *testing.T, p *Project, env string) {
	platforms, err := p.PlatformsOf(env)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Channels(env); err != nil {
		t.Fatal(err)
	}
	for _, on := range append(platforms, Platform{}) {
		conda, err := p.Conda(env, on)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range conda {
			if r.Spec != nil && r.Spec.Name != r.Name {
				t.Fatalf("%q became %q", r.Name, r.Spec.Name)
			}
		}
		if _, err := p.Python(env, on); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Tasks(env, on); err != nil {
			t.Fatal(err)
		}
		if _, err := p.VirtualPackages(env, on); err != nil {
			t.Fatal(err)
		}
	}
}

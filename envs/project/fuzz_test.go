package project

import (
	"errors"
	"testing"
)

// FuzzManifest: any bytes are a project or an error of the class, and a
// project can be asked about all its environments.
func FuzzManifest(f *testing.F) {
	f.Add("[workspace]\nplatforms=[\"linux-64\",{name=\"g\",platform=\"linux-64\",cuda=\"12\"}]\n[target.g.activation.env]\nA=\"1\"\n")
	f.Add("a.b.c=1\n[[x.y]]\nz={q=[1,{r='s'}]}\n[x.y.w]\nv=1\n")
	f.Add("[feature.x.activation]\nscripts=[\"a\"]\n[environments]\ne={features=[\"x\"],no-default-feature=true}\n")
	f.Fuzz(func(t *testing.T, data string) {
		tree, err := parseTOML("pixi.toml", []byte(data))
		if err == nil {
			var p *Project
			p, err = (&manifest{file: "pixi.toml", root: tree}).read("/nowhere")
			if err == nil {
				for _, env := range p.Environments() {
					features, err := p.featuresOf(env)
					if err != nil {
						t.Fatal(err)
					}
					if len(p.mergeAll(features)) == 0 {
						t.Fatal("an environment without an outcome")
					}
				}
			}
		}
		if err != nil && !errors.Is(err, ErrManifest) {
			t.Fatal(err)
		}
	})
}

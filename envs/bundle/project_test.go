package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const manifest = "[workspace]\nname = \"x\"\nchannels = [\"https://conda.example/ch\"]\nplatforms = [\"linux-64\"]\n\n[activation]\nscripts = [\"on.sh\", \"../out.sh\"]\n"

func TestProjectFiles(t *testing.T) {
	c := demo(t)
	plan := func() *Plan {
		p, err := NewPlan(Project{LockName: "pixi.lock", Lock: c.lock(t, "default@linux-64=libz")}, nil, nil, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	dir := writeDir(t, map[string]string{"p/pixi.toml": manifest, "p/on.sh": "export A=1\n", "out.sh": "export B=1\n", "p/other.txt": "not the lock's"})
	p := plan()
	if err := p.AddProjectFiles(dir + "/p"); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"pixi.toml": []byte(manifest), "on.sh": []byte("export A=1\n")}
	if d := cmp.Diff(want, p.project.Files); d != "" {
		t.Error(d)
	}
	if err := plan().AddProjectFiles(t.TempDir()); err != nil {
		t.Errorf("a lock without a manifest: %v", err)
	}
	secret := writeDir(t, map[string]string{"pixi.toml": strings.Replace(manifest, "conda.example", "me:secret@conda.example", 1)})
	if err := plan().AddProjectFiles(secret); err == nil || !strings.Contains(err.Error(), "pixi.toml: line 3") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a credential in the manifest: %v", err)
	}
}

package checkup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// What is checked is what a launch would have: the variables of what the site built for
// this node, and a note about what it failed to build.
func TestSiteBuilds(t *testing.T) {
	root, id, overlay := t.TempDir(), strings.Repeat("a", 32), strings.Repeat("e", 32)
	record := sitebuild.RecordPath(root, id, "linux-64")
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(record), 0o755), os.Mkdir(filepath.Join(root, "private"), 0o755),
		os.WriteFile(filepath.Join(filepath.Dir(record), "linux-64.json"), []byte(`{"id": "`+id+`", "platform": "linux-64", "prefix": "/e/`+id+`"}`), 0o644),
		os.WriteFile(record, []byte(`{"version": 1, "builds": [
{"name": "gex", "state": "built", "overlay": "`+overlay+`", "networks": ["slingshot-11"], "variables": [{"name": "REALM_GASNETEX_WRAPPER", "value": "${overlay}/w.so"}]},
{"name": "mpi", "state": "failed", "problem": "exit status 2"}]}`), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := FindID(prepared.Store{Root: root}, id, "linux-64")
	if err != nil || p == nil {
		t.Fatalf("%+v %v", p, err)
	}
	for network, want := range map[string]string{"slingshot-11": "/e/" + overlay + "/w.so", "infiniband": ""} {
		env, notes, err := p.Variables(t.Context(), []string{"PATH=/usr/bin"}, "default", nil, []string{network})
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := env("REALM_GASNETEX_WRAPPER"); v != want || len(notes) != 1 || !strings.Contains(notes[0], "site build mpi for linux-64 FAILED: exit status 2") {
			t.Errorf("%s: %q, %q", network, v, notes)
		}
	}
}

package sitebuild_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// Which overlays a node uses goes by its networks, which are read only if that matters.
func TestChoose(t *testing.T) {
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	v := func(name, value string, prepend bool) sitebuild.Variable {
		return sitebuild.Variable{Name: name, Value: value, Prepend: prepend}
	}
	rec := &sitebuild.Record{Builds: []sitebuild.Entry{
		{Name: "ss", State: sitebuild.Built, Overlay: a, Networks: []string{"slingshot-11"}, Variables: []sitebuild.Variable{v("W", "${overlay}/lib/w.so", false), v("LD_LIBRARY_PATH", "${overlay}/lib:${prefix}/lib", true)}},
		{Name: "any", State: sitebuild.Built, Overlay: b, Variables: []sitebuild.Variable{v("W", "${overlay}/any.so", false), v("X", "1", false)}},
		{Name: "ib", State: sitebuild.Failed, Networks: []string{"infiniband"}},
	}}
	on := func(networks ...string) sitebuild.Choice { return rec.Choose(func() []string { return networks }) }
	c := on("slingshot-11", "ethernet")
	want := []activation.Op{
		{Kind: "set", Name: "W", Value: "/e/" + a + "/lib/w.so"}, {Kind: "prepend", Name: "LD_LIBRARY_PATH", Value: "/e/" + a + "/lib:/e/env/lib", Sep: ":"}, {Kind: "set", Name: "X", Value: "1"},
	}
	if got := c.Ops("/e/env"); !reflect.DeepEqual(got, want) || len(c.Lacking) != 0 {
		t.Errorf("%+v %+v", got, c.Lacking)
	}
	c = on("infiniband")
	if len(c.Use) != 1 || c.Use[0].Name != "any" || len(c.Lacking) != 1 || c.Lacking[0].Name != "ib" {
		t.Errorf("%+v", c)
	}
	rec.Builds = rec.Builds[1:2]
	if c := rec.Choose(func() []string { t.Error("networks are read for nothing"); return nil }); len(c.Use) != 1 {
		t.Errorf("%+v", c)
	}
}

// A record that is not what it should be is an error; none is no builds.
func TestRead(t *testing.T) {
	root := t.TempDir()
	if r, err := sitebuild.Read(root, id, platform); err != nil || len(r.Builds) != 0 || r.Pending() {
		t.Errorf("%+v %v", r, err)
	}
	path := sitebuild.RecordPath(root, id, platform)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"version": 2}`, `{"version": 1, "builds": [{"name": "x", "state": "built", "overlay": "../../etc"}]}`, `{"version": 1, "builds": [{"name": "x", "state": "built"}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := sitebuild.Read(root, id, platform); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

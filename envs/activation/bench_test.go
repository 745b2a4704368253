package activation

import (
	"context"
	"testing"
)

// BenchmarkActivate is a launch without scripts: pure data.
func BenchmarkActivate(b *testing.B) {
	in := Input{Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/u", "LANG=C.UTF-8"}, ID: "0123456789abcdef0123456789abcdef", Platform: "linux-64",
		Prefix: "/opt/hpcenv/e/0123456789abcdef0123456789abcdef", EnvName: "default", Manifest: &Manifest{Name: "p", Root: "/home/u/p", File: "pixi.toml", Platforms: []string{"linux-64"}},
		Static: Static{Patch: Patch{Ops: []Op{{Kind: OpPrepend, Name: "PATH", Value: "/opt/hpcenv/e/0123456789abcdef0123456789abcdef/bin", Sep: ":"},
			{Kind: OpSet, Name: "CONDA_SHLVL", Value: "1"}, {Kind: OpSet, Name: "CONDA_PREFIX", Value: "/opt/hpcenv/e/0123456789abcdef0123456789abcdef"}}}}}
	for b.Loop() {
		res, err := Activate(context.Background(), in)
		if err != nil {
			b.Fatal(err)
		}
		undo, _ := lookup(res.Env, UndoName)
		b.ReportMetric(float64(len(undo)), "undo-bytes")
	}
}

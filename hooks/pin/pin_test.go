package pin

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/editable"
)

func sample() *Pin {
	return &Pin{
		Lock: strings.Repeat("ab", 32), LockPath: "/p/pixi.lock", Token: "t",
		Choice: Choice{
			Environment: "default", ID: strings.Repeat("0f", 16), Platforms: []string{"linux-64", "linux-aarch64"},
			Activation: strings.Repeat("cd", 32),
		},
	}
}

func TestRoundTrip(t *testing.T) {
	own := sample()
	own.Store, own.Step = "/home/u/store", true
	own.Inline = []byte(`{"env":{"":{"A":"<&>"}}}`)
	over := sample()
	over.Overlay = &Overlay{Dir: "/home/u/.cache/hpcenv/overlays/a/b", PerPlatform: true, Sources: []editable.Source{{Name: "p", Dir: "/p", Commit: strings.Repeat("ab", 20), Dirty: true}}}
	if got := over.OverlayDir("linux-64"); got != over.Overlay.Dir+"/linux-64" || sample().OverlayDir("linux-64") != "" {
		t.Errorf("overlay of a platform: %q", got)
	}
	group := sample()
	group.Group = "0"
	if got := group.Within("/srv/s"); got != "/srv/s/private/0" || sample().Within("/srv/s") != "/srv/s" || own.Within("/srv/s") != own.Store {
		t.Errorf("a group's part of the store: %q", got)
	}
	for _, p := range []*Pin{sample(), own, over, group} {
		wire, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(wire)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, got); d != "" {
			t.Error(d)
		}
		if want := "1:" + string(p.Delivery()) + ":{"; !strings.HasPrefix(wire, want) {
			t.Errorf("wire form %q does not begin with %q, which the shim relies on", wire, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	edit := func(f func(*Pin)) string {
		p := sample()
		f(p)
		wire, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return wire
	}
	good := edit(func(*Pin) {})
	for name, wire := range map[string]string{
		"group's way out":  edit(func(p *Pin) { p.Group = "../pool" }),
		"group not normal": edit(func(p *Pin) { p.Group = "007" }),
		"group too large":  edit(func(p *Pin) { p.Group = "4294967296" }),
		"group, own store": edit(func(p *Pin) { p.Group, p.Store = "7", "/s" }),
		"group as a tree":  strings.Replace(edit(func(p *Pin) { p.Group = "7" }), "1:private:", "1:tree:", 1),
		"empty":            "",
		"no json":          "1:tree:",
		"newer":            "2" + good[1:],
		"wrong delivery":   strings.Replace(good, ":tree:", ":own:", 1),
		"too long":         good + strings.Repeat(" ", MaxBytes),
		"id not hex":       edit(func(p *Pin) { p.ID = strings.Repeat("G", 32) }),
		"overlay":          edit(func(p *Pin) { p.Overlay = &Overlay{Dir: "relative"} }),
		"overlay unclean":  edit(func(p *Pin) { p.Overlay = &Overlay{Dir: "/a/../b"} }),
		"overlay in PATH":  edit(func(p *Pin) { p.Overlay = &Overlay{Dir: "/a:/b"} }),
		"id too short":     edit(func(p *Pin) { p.ID = "ab" }),
		"lock":             edit(func(p *Pin) { p.Lock = "../../etc" }),
		"name with slash":  edit(func(p *Pin) { p.Environment = "a/b" }),
		"relative store":   edit(func(p *Pin) { p.Store = "store" }),
		"unclean store":    edit(func(p *Pin) { p.Store = "/home/../etc" }),
		"platform escapes": edit(func(p *Pin) { p.Platforms = []string{".."} }),
		"activation":       edit(func(p *Pin) { p.Activation = "x" }),
	} {
		if _, err := Decode(wire); !errors.Is(err, ErrPin) {
			t.Errorf("%s: error %v, want one of class ErrPin", name, err)
		}
	}
}

func TestEncodeBounds(t *testing.T) {
	p := sample()
	p.Inline = []byte(`"` + strings.Repeat("x", MaxBytes) + `"`)
	if _, err := p.Encode(); !errors.Is(err, ErrPin) {
		t.Errorf("error %v, want one of class ErrPin", err)
	}
}

func FuzzDecode(f *testing.F) {
	wire, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wire)
	f.Add("1:own:{}")
	f.Fuzz(func(t *testing.T, wire string) {
		p, err := Decode(wire)
		if err != nil {
			return
		}
		again, err := p.Encode()
		if err != nil {
			return // longer once normalised
		}
		q, err := Decode(again)
		if err != nil {
			t.Fatalf("accepted %q but not its own form %q: %v", wire, again, err)
		}
		if p.ID != q.ID || p.Lock != q.Lock {
			t.Fatal("identity changed")
		}
	})
}

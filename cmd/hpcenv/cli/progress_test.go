package cli

import (
	"github.com/hpcenv/hpcenv/internal/shellword"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// What others have named reaches no terminal as a command.
func TestListObeysNobody(t *testing.T) {
	var out strings.Builder
	a := &app{stdout: &out}
	if err := a.listTable([]api.Environment{{ID: "0123456789", Name: "größe\x1b[2J\u009b31m\u202e\r"}}, ""); err != nil {
		t.Fatal(err)
	}
	detail := &api.EnvironmentDetail{Platforms: []api.PlatformDetail{{Notes: []string{"a\x1b]0;b\a"}}}}
	if err := a.inspectText(detail, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "größe?[2J?31m??") || strings.ContainsAny(out.String(), "\x1b\u009b\u202e\r\a") {
		t.Errorf("%q", out.String())
	}
}

func TestFigures(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 9_949: "9.9 kB", 9_951: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 3_100_000_000: "3.1 GB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 83214: "83,214", 1234567: "1,234,567"} {
		if got := countText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for s, want := range map[float64]string{0.04: "0.0 s", 4.1: "4.1 s", 41.2: "41 s", 150: "2 min 30 s"} {
		if got := secondsText(s); got != want {
			t.Errorf("%v s: %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]string{".": ".", "a b": "'a b'", "it's": `'it'\''s'`, "": "''"} {
		if got := shellword.Quote(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

// A total that is not known, or cannot be right, is not shown.
func TestDoneOfTotal(t *testing.T) {
	var out strings.Builder
	l := &lines{w: &out, head: "x", show: showAll}
	for _, total := range []int64{0, 1_000_000, 4_500_000, 9_000_000} {
		l.report(api.Event{Type: api.EventFetch, PackagesDone: 1, PackagesTotal: 2, BytesDone: 4_500_000, BytesTotal: total})
	}
	const want = "fetched 1 of 2 packages  4.5 MB\nfetched 1 of 2 packages  4.5 MB\nfetched 1 of 2 packages  4.5 MB of 4.5 MB\nfetched 1 of 2 packages  4.5 MB of 9.0 MB\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

func TestPlainLines(t *testing.T) {
	events := []api.Event{
		{Type: api.EventPlan, Environment: "default", Platform: "linux-64"},
		{Type: api.EventPlan, Environment: "gex", Platform: "linux-aarch64", New: true},
		{Type: api.EventPlan, PackagesDone: 187, PackagesTotal: 399, BytesTotal: 3_100_000_000},
		{Type: api.EventFetch, Package: "numpy", PackagesDone: 188, PackagesTotal: 399}, // within seconds: not worth a line
		{Type: api.EventNote, Text: "a note"},
	}
	const all = "pixi.lock a41c9e02\n  default       linux-64       ready\n  gex           linux-aarch64  new\nfetching 212 of 399 packages  3.1 GB\na note\n"
	for _, c := range []struct {
		name   string
		show   showing
		events []api.Event
		want   string
	}{
		{"prepare", showAll, events, all},
		{"run with something new", showNew, events, all},
		{"run with all ready", showNew, []api.Event{events[0], {Type: api.EventPlan, PackagesDone: 2, PackagesTotal: 2}}, ""},
		{"dry run", showDry, []api.Event{{Type: api.EventPlan, PackagesTotal: 2, BytesTotal: 3_000_000}}, "pixi.lock a41c9e02\nto fetch: 2 of 2 packages  3.0 MB\n"},
		{"sizes not known", showAll, []api.Event{{Type: api.EventPlan, PackagesTotal: 2}}, "pixi.lock a41c9e02\nfetching 2 of 2 packages\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			p := newProgress(&out, "pixi.lock a41c9e02", c.show)
			for _, e := range c.events {
				p.report(e)
			}
			p.close()
			if d := cmp.Diff(c.want, out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

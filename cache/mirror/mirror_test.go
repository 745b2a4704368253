package mirror

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func urls(places []Place) []string {
	var out []string
	for _, p := range places {
		out = append(out, p.URL)
	}
	return out
}

func TestTheLongestPrefixCounts(t *testing.T) {
	l, err := New([]Rule{
		{Prefix: "https://conda.example/", URLs: []string{"https://all.example/m"}},
		{Prefix: "https://conda.example/ch", URLs: []string{"https://ch.example", "https://conda.example/ch/", "s3://bucket/ch", "oci://reg.example/ch", "file:///srv/ch"}},
		{Prefix: "HTTPS://Conda.Example/ch/label/dev", URLs: []string{"https://dev.example"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string][]string{
		"https://conda.example/other/linux-64/a": {"https://all.example/m/other/linux-64/a"},
		"https://conda.example/ch2/linux-64/a":   {"https://all.example/m/ch2/linux-64/a"},
		"https://conda.example/ch/linux-64/a": {
			"https://ch.example/linux-64/a", "https://conda.example/ch/linux-64/a", "s3://bucket/ch/linux-64/a", "oci://reg.example/ch/linux-64/a", "file:///srv/ch/linux-64/a",
		},
		"https://CONDA.example/ch/label/dev/noarch/a": {"https://dev.example/noarch/a"},
		"https://conda.example/ch/label/devel/a":      {"https://ch.example/label/devel/a", "https://conda.example/ch/label/devel/a", "s3://bucket/ch/label/devel/a", "oci://reg.example/ch/label/devel/a", "file:///srv/ch/label/devel/a"},
		"http://conda.example/ch/a":                   {"http://conda.example/ch/a"},
		"https://conda.example.evil/ch/a":             {"https://conda.example.evil/ch/a"},
		"https://conda.example/ch/a?x=1":              {"https://ch.example/a?x=1", "https://conda.example/ch/a?x=1", "s3://bucket/ch/a?x=1", "oci://reg.example/ch/a?x=1", "file:///srv/ch/a"},
		// A lock leads nowhere else on a mirror.
		"https://conda.example/ch/../../etc/shadow":     {"https://conda.example/ch/../../etc/shadow"},
		"https://conda.example/ch/%2e%2e/%2e%2e/shadow": {"https://conda.example/ch/%2e%2e/%2e%2e/shadow"},
		"https://conda.example/ch/x%2f..%2f..%2fy":      {"https://conda.example/ch/x%2f..%2f..%2fy"},
	} {
		if d := cmp.Diff(want, urls(l.Places(raw))); d != "" {
			t.Errorf("%s: %s", raw, d)
		}
	}
	var none *List
	if d := cmp.Diff([]string{"https://a.example/b"}, urls(none.Places("https://a.example/b"))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"all.example:443", "ch.example:443", "conda.example:443", "dev.example:443", "reg.example:443"}, l.Hosts()); d != "" {
		t.Error(d)
	}
}

func TestHealth(t *testing.T) {
	now := time.Unix(1e9, 0)
	l, err := New([]Rule{{Prefix: "https://c.example", URLs: []string{"https://1.example", "https://2.example", "https://3.example"}}})
	if err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return now }
	order := func() string {
		var b strings.Builder
		for _, p := range l.Places("https://c.example/a") {
			b.WriteString(p.Mirror[len("https://") : len("https://")+1])
		}
		return b.String()
	}
	fail := func(n int) {
		for _, p := range l.Places("https://c.example/a") {
			if strings.HasPrefix(p.Mirror, "https://"+string(rune('0'+n))) {
				l.Failed(p)
			}
		}
	}
	step := func(want string) {
		t.Helper()
		if got := order(); got != want {
			t.Errorf("order %s, want %s", got, want)
		}
	}
	step("123")
	fail(1)
	step("231")
	now = now.Add(time.Minute)
	fail(2)
	step("312")
	fail(3)
	step("123") // all failed: the one whose failure is oldest
	now = now.Add(pause - time.Minute + time.Second)
	step("123")
	for _, p := range l.Places("https://c.example/a") {
		l.Worked(p)
	}
	step("123")
}

func TestBadRulesShowNoSecret(t *testing.T) {
	for _, r := range []Rule{
		{Prefix: "conda.example", URLs: []string{"https://a.example"}},
		{Prefix: "https://u:hunter2@[::1", URLs: []string{"https://a.example"}},
		{Prefix: "https://c.example"},
		{Prefix: "https://c.example", URLs: []string{"https://u:hunter2@[::1"}},
		{Prefix: "https://c.example", URLs: []string{"ftp://u:hunter2@a.example"}},
		{Prefix: "https://c.example", URLs: []string{"https://a.example?token=hunter2"}},
	} {
		if _, err := New([]Rule{r}); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "rule 1") {
			t.Errorf("%v: %v", r, err)
		}
	}
	if _, err := New([]Rule{{"https://c.example/", []string{"https://a.example"}}, {"https://C.example", []string{"https://b.example"}}}); err == nil {
		t.Error("one prefix twice")
	}
}

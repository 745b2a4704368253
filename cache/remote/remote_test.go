package remote

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache/credential"
	"github.com/hpcenv/hpcenv/cache/mirror"
)

const sha = "abababababababababababababababababababababababababababababababab"

func TestWhereRequestsGo(t *testing.T) {
	a := &Access{
		Buckets: []Bucket{
			{Name: "path", Endpoint: "http://s3.example:9000/base/", Region: "r", PathStyle: true},
			{Name: "host", Endpoint: "https://s3.example", Region: "r"},
		},
	}
	for raw, want := range map[string]string{
		"https://u:p@conda.example/ch/label/dev/linux-64/a-1-0.conda": "https://conda.example/ch/label/dev/linux-64/a-1-0.conda",
		"https://conda.example/t/tok/ch/noarch/a-1-0.conda":           "https://conda.example/t/tok/ch/noarch/a-1-0.conda",
		"s3://path/ch/linux-64/a-1+2!x-0.conda":                       "http://s3.example:9000/base/path/ch/linux-64/a-1%2B2%21x-0.conda",
		"s3://host/ch/a-1-0.conda":                                    "https://host.s3.example/ch/a-1-0.conda",
		"s3://other/ch/a-1-0.conda":                                   "https://other.s3.us-east-1.amazonaws.com/ch/a-1-0.conda",
		"oci://reg.example/mirrors/Ch/linux-64/a-b-1.0-py_0.conda":    "https://reg.example/v2/mirrors/ch/linux-64/a-b/blobs/sha256:" + sha,
		"oci://reg.example:5000/ch/noarch/_mutex-1-0.tar.bz2":         "https://reg.example:5000/v2/ch/noarch/zzz_mutex/blobs/sha256:" + sha,
		"file:///srv/a-1-0.conda":                                     "file:///srv/a-1-0.conda",
	} {
		got, err := a.Targets(raw, sha)
		if err != nil || len(got) != 1 || got[0].URL.String() != want {
			t.Errorf("%s: %v, %v, want %s", raw, got, err, want)
		}
	}
	for _, raw := range []string{"oci://reg.example/ch/x.whl", "oci://reg.example/ch/noarch/a-1.conda", "ftp://u:hunter2@x.example/a", "https://u:hunter2@[::1", "rel/ative"} {
		if got, err := a.Targets(raw, sha); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %v", raw, got, err)
		}
	}
}

// What a URL holds is for its own host: a mirror is shown what was kept for the
// mirror, a lock's credential never.
func TestCredentialsAreForTheFinalHost(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte("machine conda.example login c password c\nmachine mirror.example login m password m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := User(Places{
		Env: func(k string) string { return map[string]string{"HOME": home}[k] }, System: filepath.Join(home, "none"),
		Mirrors: []mirror.Rule{{Prefix: "https://conda.example/ch", URLs: []string{"https://mirror.example/x", "https://open.example", "https://w:own@mirror.example/y", "https://conda.example/ch"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(raw string) []string {
		t.Helper()
		targets, err := a.Targets(raw, sha)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, target := range targets {
			req, err := http.NewRequest(http.MethodGet, target.URL.String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			target.Authorize(req)
			user, password, _ := req.BasicAuth()
			out = append(out, user+":"+password+"@"+req.URL.Host+req.URL.Path)
		}
		return out
	}
	want := []string{"m:m@mirror.example/x/a", ":@open.example/a", "w:own@mirror.example/y/a", "c:c@conda.example/ch/a"}
	for _, raw := range []string{"https://conda.example/ch/a", "https://l:lock@conda.example/ch/a", "https://conda.example/t/tok/ch/a"} {
		if d := cmp.Diff(want, shown(raw)); d != "" {
			t.Errorf("%s: %s", raw, d)
		}
	}
	if d := cmp.Diff([]string{"l:lock@conda.example/other/a"}, shown("https://l:lock@conda.example/other/a")); d != "" {
		t.Error(d)
	}
}

func TestPixisConfigurationsAreMerged(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	system := write("system.toml", "[mirrors]\n'https://a.example/' = ['https://system.example']\n'https://b.example' = ['https://system.example']\n[s3-options.x]\nendpoint-url='https://system.example'\nregion='r'\nforce-path-style=false\n")
	write(".config/pixi/config.toml", "[mirrors]\n'https://b.example/' = ['https://user.example']\n")
	write(".pixi/config.toml", "[s3-options.x]\nendpoint-url='https://home.example'\nregion='r'\nforce-path-style=true\n")
	write("project/.pixi/config.toml", "[mirrors]\n'https://c.example' = ['https://project.example']\n")
	a, err := User(Places{
		Env: func(k string) string { return map[string]string{"HOME": home}[k] }, System: system, Project: filepath.Join(home, "project"),
		Mirrors: []mirror.Rule{{Prefix: "https://c.example/", URLs: []string{"https://site.example"}}, {Prefix: "https://d.example", URLs: []string{"https://site.example"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"https://a.example/p": "https://system.example/p", "https://b.example/p": "https://user.example/p", "https://c.example/p": "https://project.example/p",
		"https://d.example/p": "https://site.example/p", "https://e.example/p": "https://e.example/p", "s3://x/p": "https://home.example/x/p",
	} {
		got, err := a.Targets(raw, sha)
		if err != nil || len(got) != 1 || got[0].URL.String() != want {
			t.Errorf("%s: %v, %v, want %s", raw, got, err, want)
		}
	}
	write("project/.pixi/config.toml", "[mirrors]\nhunter2 = = x\n")
	if _, err := User(Places{Project: filepath.Join(home, "project"), System: system}); err == nil || !strings.Contains(err.Error(), "config.toml:2") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// FuzzRedact: nothing that a URL holds as a user, a password, a token, a query or a
// fragment is left, and redacting twice changes nothing.
func FuzzRedact(f *testing.F) {
	f.Add("user", "pass", "tok", "ch/linux-64/a.conda", "sig=1")
	f.Add("u@", "p:/", "t/t", "t/second/x", "")
	f.Fuzz(func(t *testing.T, user, password, token, path, query string) {
		const mark = "S3CR3TMARK"
		if strings.Contains(user+password, "/") {
			return // unescaped, it ends the host's part: no user is left to be seen
		}
		for _, raw := range []string{
			"https://" + mark + user + ":" + mark + password + "@conda.example/" + path,
			"https://conda.example/t/" + mark + strings.ReplaceAll(token, "/", "") + "/" + path,
			"https://conda.example/deep/t/" + mark + "/t/" + mark + "/" + path,
			"https://conda.example/" + path + "?" + mark + query,
			"https://conda.example/" + path + "#" + mark + query,
		} {
			got := Redact(raw)
			if strings.Contains(path, mark) || strings.Contains(raw, mark+mark) {
				continue
			}
			if strings.Contains(got, mark) {
				t.Errorf("Redact(%q) = %q", raw, got)
			}
			if again := Redact(got); again != got && got[0] != '(' {
				t.Errorf("again: %q becomes %q", got, again)
			}
		}
	})
}

func TestUnknownKindsAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(path, []byte(`{"conda.example": {"OAuth": {"access_token": "hunter2"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := credential.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&Access{Credentials: set}).Targets("https://conda.example/a", sha)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "OAuth") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

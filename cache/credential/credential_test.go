package credential

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func parse(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func secretOf(c Credential) string {
	s, _ := c.Reveal()
	return s
}

func TestNetrc(t *testing.T) {
	got, err := readNetrc("f", `# a comment
machine a.example login me password one
machine b.example	login you
  password "two words \"quoted\" \\ "
	account x
machine A.example login other password late
macdef init
cd /pub machine evil.example login x password y

default login anonymous password nobody
machine c.example password only#half
machine d.example login d password#x
`)
	if err == nil {
		t.Fatal("password#x is no keyword")
	}
	got, err = readNetrc("f", `# a comment
machine a.example login me password one
machine b.example	login you
  password "two words \"quoted\" \\ "
	account x
machine A.example login other password late
macdef init
cd /pub machine evil.example login x password y

default login anonymous password nobody
machine c.example password only#half`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.example": "me:one", "b.example": `you:two words "quoted" \ `, "c.example": ":only#half"}
	if len(got) != len(want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	for host, w := range want {
		if c := got[host]; c.User()+":"+secretOf(c) != w {
			t.Errorf("%s: %s:%s, want %s", host, c.User(), secretOf(c), w)
		}
	}
	for text, line := range map[string]string{
		"machine a login b password c d\n": "f:1:", "\n\nhunter2\n": "f:3:", "machine a\nlogin": "f:2: login without a value", "machine": "f:1: machine without",
	} {
		_, err := readNetrc("f", text)
		if err == nil || !strings.Contains(err.Error(), line) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A password may begin with what begins a comment elsewhere.
func TestNetrcPasswordsWithNumberSigns(t *testing.T) {
	got, err := readNetrc("f", "\ufeffmachine a.example login me password #one # a comment\n# another\nmachine b.example # more\n login #you password \n #two\nmachine c.example port 443 protocol https password \"#three\"")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"a.example": "me:#one", "b.example": "#you:#two", "c.example": ":#three"} {
		if c := got[host]; c.User()+":"+secretOf(c) != want {
			t.Errorf("%s: %s:%s, want %s", host, c.User(), secretOf(c), want)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d entries", len(got))
	}
}

// FuzzNetrc: whatever a file holds, reading it ends, and an error quotes nothing.
func FuzzNetrc(f *testing.F) {
	f.Add("machine a login b password c")
	f.Add("macdef x\ny\n\ndefault login \"a\\\"b")
	f.Add("machine \"unclosed")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readNetrc("f", text)
		if err != nil {
			for _, word := range strings.Fields(text) {
				if len(word) > 12 && strings.Contains(err.Error(), word) && !strings.Contains("machine default login password account macdef without quotes needs blanks", word) {
					t.Errorf("%q is quoted: %v", word, err)
				}
			}
		}
		for host := range got {
			if host != strings.ToLower(host) {
				t.Errorf("host %q", host)
			}
		}
	})
}

func TestPixiLookup(t *testing.T) {
	named, err := readPixi("f", []byte(`{
		"*.prefix.example": {"BearerToken": "wide"},
		"*.a.prefix.example": {"BearerToken": "narrow"},
		"Host.example": {"BasicHTTP": {"username": "u", "password": "p"}},
		"host.example:8443": {"CondaToken": "port"},
		"s3://bucket": {"S3Credentials": {"access_key_id": "i", "secret_access_key": "k", "session_token": null}},
		"s3://bucket/deep/er": {"S3Credentials": {"access_key_id": "i2", "secret_access_key": "k2", "session_token": "s"}},
		"later.example": {"OAuth": {"access_token": "x"}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &Set{named: named, hosts: map[string]Credential{"host.example": NewBasic("n", "netrc", ""), "only.example": NewBasic("n", "netrc", "")},
		origins: map[string]Credential{"https://uv.example:443": NewBasic("v", "uv", "")}}
	for raw, want := range map[string]string{
		"https://prefix.example/x":          "bearer token wide",
		"https://b.prefix.example/x":        "bearer token wide",
		"https://a.prefix.example/x":        "bearer token narrow",
		"https://b.a.prefix.example/x":      "bearer token narrow",
		"https://xprefix.example/x":         "",
		"https://HOST.example/x":            "user and password p",
		"https://host.example:8443/x":       "conda token port",
		"https://host.example:1/x":          "user and password p",
		"https://only.example/x":            "user and password netrc",
		"https://uv.example/x":              "user and password uv",
		"http://uv.example/x":               "",
		"https://uv.example:444/x":          "",
		"s3://bucket/linux-64/a":            "access key k",
		"s3://bucket/deep/linux-64/a":       "access key k",
		"s3://bucket/deep/er/linux-64/a":    "access key k2",
		"s3://bucket2/a":                    "",
		"oci://host.example/a":              "user and password p",
		"https://later.example/a":           "credential of an unknown kind ",
		"https://evil.example/host.example": "",
		"file:///etc/x":                     "",
	} {
		c, ok := s.Lookup(parse(t, raw))
		got := ""
		if ok {
			got = c.Kind().String() + " " + secretOf(c)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	for _, bad := range []string{`{"a": {"BearerToken": 12345678}}`, `{"a": {"BasicHTTP": "hunter2"}}`, `{"a": {}}`, `{"a": {"BearerToken": "x", "CondaToken": "y"}}`, "{\n\"a\": hunter2}", `["hunter2"]`} {
		_, err := readPixi("the/file", []byte(bad))
		if err == nil || !strings.Contains(err.Error(), "the/file") || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "12345678") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzPixiFile(f *testing.F) {
	f.Add([]byte(`{"a": {"BearerToken": "secret-secret-secret"}}`))
	f.Add([]byte(`{"a": {"BasicHTTP": {"username": "u"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readPixi("f", data)
		if err == nil && got == nil {
			t.Error("nothing, and no error")
		}
		for _, c := range got {
			if s := secretOf(c); len(s) > 40 && strings.Contains(fmt.Sprintf("%v%+v%#v", c, c, c), s) {
				t.Errorf("%#v", c)
			}
		}
	})
}

// What is not there is none; what is named and not there is an error.
func TestLoadPlaces(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	get := func(k string) string { return env[k] }
	s, _, err := Load(Places{Env: get})
	if err != nil || len(s.Secrets()) != 0 {
		t.Errorf("%v, %v", s, err)
	}
	env["RATTLER_AUTH_FILE"] = filepath.Join(home, "absent.json")
	if _, _, err := Load(Places{Env: get}); err == nil || !strings.Contains(err.Error(), "absent.json") {
		t.Errorf("got %v", err)
	}
	delete(env, "RATTLER_AUTH_FILE")
	env["AWS_PROFILE"] = "lab"
	if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".aws/credentials": "[default]\naws_access_key_id=no\n[lab]\n# c\naws_access_key_id = id\naws_secret_access_key = key\naws_session_token = s\n",
		".aws/config":      "[profile lab]\nregion = eu-x-1\nendpoint_url = https://s3.example\n[default]\nregion = other\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, aws, err := Load(Places{Env: get})
	if err != nil {
		t.Fatal(err)
	}
	c, ok := s.Lookup(parse(t, "s3://b/x"))
	if key, session := c.Reveal(); !ok || c.User() != "id" || key != "key" || session != "s" {
		t.Errorf("%v %s %s", ok, c.User(), key)
	}
	if aws.Region != "eu-x-1" || aws.Endpoint != "https://s3.example" {
		t.Errorf("%+v", aws)
	}
}

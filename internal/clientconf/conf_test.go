package clientconf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hpcenv.conf")
	if err := os.WriteFile(file, []byte("# site\nsocket = /run/hpcenv/s\nstore=/shared/hpcenv\nprefix_root = /opt/e\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "absent")
	site := Conf{Socket: "/run/hpcenv/s", Store: "/shared/hpcenv", PrefixRoot: "/opt/e"}
	for _, c := range []struct {
		name, socket, store, file string
		env                       map[string]string
		want                      Conf
	}{
		{name: "flag beats all", store: "/f", file: file, env: map[string]string{"HPCENV_SOCKET": "/e"}, want: Conf{Store: "/f"}},
		{name: "environment beats file", file: file, env: map[string]string{"HPCENV_STORE": "/e"}, want: Conf{Store: "/e"}},
		{name: "file", file: file, env: map[string]string{"HOME": "/h"}, want: site},
		{name: "own", file: none, env: map[string]string{"HOME": "/h"}, want: Conf{Store: "/h/.local/share/hpcenv", Own: true}},
		{name: "xdg", file: none, env: map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/d"}, want: Conf{Store: "/d/hpcenv", Own: true}},
		{name: "relative xdg is ignored", file: none, env: map[string]string{"HOME": "/h", "XDG_DATA_HOME": "d"}, want: Conf{Store: "/h/.local/share/hpcenv", Own: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Resolve(c.socket, c.store, c.file, func(k string) string { return c.env[k] })
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOwnStore(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"HPCENV_STORE": "/s", "HOME": "/h"}, "/s"},
		{map[string]string{"HOME": "/h"}, "/h/.local/share/hpcenv"},
		{map[string]string{"HPCENV_STORE": "s", "HOME": "/h"}, ""},
		{nil, ""},
	} {
		getenv := func(k string) string { return c.env[k] }
		got, err := OwnStore(getenv)
		if c.want == "" {
			if !errors.Is(err, ErrConf) || c.env != nil && !strings.Contains(err.Error(), "HPCENV_STORE=s is not an absolute path") {
				t.Errorf("%v: %q %v", c.env, got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%v: %q %v", c.env, got, err)
		}
		if r, err := Resolve("", "", filepath.Join(t.TempDir(), "absent"), getenv); err != nil || r.Store != c.want {
			t.Errorf("%v: commands use %+v %v", c.env, r, err)
		}
	}
}

func TestBadFilesNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"socket = /s\nstroe = /x\n": ":2: unknown key \"stroe\"",
		"store\n":                   ":1: want `key = value`",
		"store = a\n":               ":1: store must be an absolute path",
		"store=/a\nstore=/b":        ":2: store a second time",
	} {
		_, err := parse("f", text)
		if !errors.Is(err, ErrConf) || !strings.Contains(err.Error(), "f"+want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestTheExample(t *testing.T) {
	got, err := Read("../../contrib/systemd/hpcenv.conf")
	if err != nil {
		t.Fatal(err)
	}
	want := Conf{Socket: "/run/hpcenv/hpcenvd.sock", Store: "/shared/hpcenv", PrefixRoot: "/opt/hpcenv/e"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

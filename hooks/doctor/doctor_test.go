package doctor

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// write makes files below a directory that stands for a host's root.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// find the finding of a check with a level.
func find(f []Finding, check string, level Level) *Finding {
	for i := range f {
		if f[i].Check == check && f[i].Level == level {
			return &f[i]
		}
	}
	return nil
}

func TestPlugstack(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"etc/slurm/plugstack.conf":          "# all plugins\noptional other.so\ninclude plugstack.conf.d/*.conf\n",
		"etc/slurm/plugstack.conf.d/a.conf": "\nrequired hpcenv_spank.so store=/shared/hpcenv owner=991 # ours\n",
	})
	h := &Host{Root: root}
	p := h.readPlugstack()
	if p.err != nil || p.where != "/etc/slurm/plugstack.conf.d/a.conf:2" || p.how != "required" || p.arg("store", "") != "/shared/hpcenv" || p.arg("prefix_root", defaultRoot) != defaultRoot || p.lines != 1 {
		t.Errorf("%+v", p)
	}
	h.plug = p
	if n, ok := h.owner(); !ok || n != 991 {
		t.Errorf("owner %d %v", n, ok)
	}
	// A file that includes itself ends.
	write(t, root, map[string]string{"etc/slurm/plugstack.conf": "include plugstack.conf\n"})
	if p := h.readPlugstack(); p.err == nil || !strings.Contains(p.err.Error(), "include each other") {
		t.Errorf("%v", p.err)
	}
}

// What two files say must agree, and what Slurm does with namespaces fits the line.
func TestDisagreement(t *testing.T) {
	h := &Host{Conf: clientconf.Conf{Socket: "/s", Store: "/a", PrefixRoot: "/p"}}
	h.plug = plugstack{where: "plugstack.conf:1", args: map[string]string{"store": "/b"}}
	got := h.lookConf(t.Context())
	if f := find(got, "configuration", Problem); f == nil || !strings.Contains(f.Found, "/a") || !strings.Contains(f.Found, "/b") {
		t.Errorf("%+v", got)
	}
	h.settings = map[string]string{"JobContainerType": "job_container/tmpfs", "SLURM_VERSION": "22.05.8"}
	if f := find(h.lookSlurm(t.Context()), "Slurm", Problem); f == nil || !strings.Contains(f.Next, "mount=job") {
		t.Errorf("%+v", f)
	}
	h.plug.args["mount"] = "job"
	if f := find(h.lookSlurm(t.Context()), "Slurm", Problem); f != nil {
		t.Errorf("%+v", f)
	}
	h.settings["JobContainerType"] = ""
	if f := find(h.lookSlurm(t.Context()), "Slurm", Problem); f == nil {
		t.Error("mount=job without job_container/tmpfs is taken for good")
	}
}

func TestStore(t *testing.T) {
	root := filepath.Join(t.TempDir(), "store")
	if _, err := cache.Create(root, cache.Format{Version: cache.FormatVersion, PrefixRoot: "/opt/x/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()}); err != nil {
		t.Fatal(err)
	}
	h := &Host{Conf: clientconf.Conf{Store: root}, UID: os.Geteuid()}
	if f := h.lookStore(t.Context()); len(f) != 1 || f[0].Level != OK {
		t.Errorf("%+v", f)
	}
	features := h.lookFileSystem(t.Context())
	if find(features, "file system features", OK) == nil || find(features, "free space", OK) == nil && find(features, "free space", Warning) == nil {
		t.Errorf("%+v", features)
	}
	if left, err := os.ReadDir(filepath.Join(root, "tmp")); err != nil || len(left) != 1 { // tmp/locks
		t.Errorf("left in tmp: %v %v", left, err)
	}
	// What is kept beside descriptions, and of site builds, is none.
	write(t, root, map[string]string{"meta/" + strings.Repeat("cd", 16) + "/linux-64.overlay.json": "{}", "meta/" + strings.Repeat("cd", 16) + "/linux-64.needs.json": "{}"})
	if f := find(h.lookContent(t.Context()), "content", Problem); f != nil {
		t.Errorf("%+v", f)
	}
	// A purge that took an image is seen.
	write(t, root, map[string]string{"meta/" + strings.Repeat("ab", 16) + "/linux-64.json": "{}"})
	if f := find(h.lookContent(t.Context()), "content", Problem); f == nil {
		t.Error("a missing environment is not seen")
	}
	if err := os.Chmod(filepath.Join(root, "inbox"), 0o777); err != nil {
		t.Fatal(err)
	}
	if f := find(h.lookStore(t.Context()), "permissions", Problem); f == nil || !strings.Contains(f.Next, "chmod 1733") {
		t.Errorf("%+v", f)
	}
	h.plug = plugstack{where: "p:1", args: map[string]string{"owner": "4242", "store": root}}
	if f := find(h.lookStore(t.Context()), "store", Problem); f == nil || !strings.Contains(f.Found, "4242") {
		t.Errorf("%+v", f)
	}
	h.plug.args["store"] = root + "-absent"
	if f := find(h.lookStore(t.Context()), "store", Problem); f == nil {
		t.Error("a store that is not mounted is taken for good")
	}
}

// Storage that hangs is a finding.
func TestHanging(t *testing.T) {
	stuck := make(chan struct{})
	defer close(stuck)
	f := bounded(t.Context(), 50*time.Millisecond, "store", func(context.Context) findings { <-stuck; return nil })
	if len(f) != 1 || f[0].Level != Problem || !strings.Contains(f[0].Found, "did not answer") {
		t.Errorf("%+v", f)
	}
}

func TestBundle(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"etc/hpcenv/hpcenvd.yaml":  "store: /s\nfetch:\n  mirrors:\n    - {prefix: \"https://conda.example\", urls: [\"https://joe:hunter2@mirror.example/t/tok-123/main\"]}\n  credentials: /srv/creds.json\n",
		"etc/slurm/plugstack.conf": "required hpcenv_spank.so store=/s\n",
	})
	h := &Host{Root: root, UID: os.Geteuid()}
	r, err := h.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	if err := h.WriteBundle(t.Context(), r, path); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for in := tar.NewReader(zip); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		parts[head.Name] = string(data)
	}
	if !strings.Contains(parts["hpcenv-doctor/doctor.json"], `"findings"`) || !strings.Contains(parts["hpcenv-doctor/hpcenvd.yaml"], "mirror.example") || !strings.Contains(parts["hpcenv-doctor/plugstack"], "store=/s") {
		t.Errorf("%v", parts)
	}
	for name, text := range parts {
		for _, secret := range []string{"hunter2", "tok-123", "creds.json"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s:\n%s", name, secret, text)
			}
		}
	}
	if err := h.WriteBundle(t.Context(), r, path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"password: x y":                         "password: ***",
		"Authorization: Bearer abcdefgh.ijk":    "Authorization: Bearer ***",
		"cred MUNGE:AwQ+/ab=: end":              "cred MUNGE:*** end",
		"fetch https://u:p@h.example/a?sig=abc": "fetch https://h.example/a?sig=***",
		"nothing secret here":                   "nothing secret here",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

// Package install tests what `make install` leaves: every path that an
// installed unit or script names is there.
package install

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named finds absolute paths that an installation must bring.
var named = regexp.MustCompile(`(?m)^(?:ExecStart=|helper=|Where=|Documentation=file://)(/\S+)`)

func TestInstall(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		has  []string
	}{
		{"defaults", []string{"PLUGINDIR=/usr/lib/slurm"}, []string{
			"/usr/bin/hpcenv", "/usr/bin/hpcenvd", "/usr/libexec/hpcenv/hpcenv", "/usr/libexec/hpcenv/hpcenv-gpu", "/usr/libexec/hpcenv/prolog", "/usr/libexec/hpcenv/epilog",
			"/usr/lib/slurm/hpcenv_spank.so", "/usr/lib/systemd/system/hpcenvd.service", "/usr/lib/systemd/system/hpcenvd.socket", "/usr/lib/sysusers.d/hpcenv.conf", "/usr/lib/tmpfiles.d/hpcenv.conf", "/usr/share/hpcenv/hpcenv.rules.yml", "/usr/lib/systemd/system/opt-hpcenv-e.mount",
			"/usr/lib/systemd/system/hpcenv-build.service", "/usr/lib/systemd/system/hpcenv-facts.service",
			"/usr/share/doc/hpcenv/administrators.md", "/usr/share/doc/hpcenv/mixed-clusters.md", "/usr/share/hpcenv/examples/profile.sh",
			"/usr/share/hpcenv/cli_filter.lua", "/usr/share/hpcenv/job_submit.lua",
			"/usr/share/hpcenv/examples/hpcenvd.yaml", "/usr/share/hpcenv/examples/hpcenv.conf", "/opt/hpcenv/e", "/etc/hpcenv",
		}},
		{"elsewhere", []string{"PREFIX=/sw/hpcenv", "UNITDIR=/etc/systemd/system", "PLUGINDIR=/sw/slurm/lib", "PREFIX_ROOT=/e-nv"}, []string{
			"/sw/hpcenv/bin/hpcenv", "/sw/hpcenv/libexec/hpcenv/hpcenv", "/sw/slurm/lib/hpcenv_spank.so", `/etc/systemd/system/e\x2dnv.mount`, "/e-nv", "/etc/hpcenv",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			build, dest := t.TempDir(), t.TempDir()
			for _, f := range []string{"hpcenv", "hpcenv-gpu", "hpcenvd", "hpcenv_spank.so"} {
				if err := os.WriteFile(filepath.Join(build, f), []byte(f), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("./install.sh", build)
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "DESTDIR=" + dest}, c.env...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, path := range c.has {
				if _, err := os.Stat(filepath.Join(dest, path)); err != nil {
					t.Errorf("not installed: %v", err)
				}
			}
			var found []string
			for _, file := range strings.Fields(string(out)) {
				if !strings.HasPrefix(file, dest) {
					t.Errorf("outside DESTDIR: %s", file)
				}
				if st, err := os.Stat(file); err != nil || st.IsDir() {
					continue
				}
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range named.FindAllStringSubmatch(string(data), -1) {
					found = append(found, m[1])
					if _, err := os.Stat(filepath.Join(dest, m[1])); err != nil {
						t.Errorf("%s names %s, which is not installed", file, m[1])
					}
				}
			}
			if len(found) < 5 { // the unit's program and page, two helpers, the mount point
				t.Errorf("units and scripts name only %q", found)
			}
		})
	}
}

func TestInstallOnlyWhatIsBuilt(t *testing.T) {
	out, err := exec.Command("./install.sh", t.TempDir()).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "next: make build") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestOneAccount: all files for administrators name one account.
func TestOneAccount(t *testing.T) {
	unit, err := os.ReadFile("../systemd/hpcenvd.service")
	if err != nil {
		t.Fatal(err)
	}
	accounts := regexp.MustCompile(`(?m)^User=(\S+)|useradd .* (\S+)$`).FindAllStringSubmatch(string(unit), -1)
	var names []string
	for _, m := range accounts {
		names = append(names, m[1]+m[2])
	}
	if want := []string{"hpcenvd", "hpcenvd"}; !slices.Equal(names, want) {
		t.Errorf("accounts %q, want %q", names, want)
	}
}

//go:build cluster

package packages

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// built is where `make build` left the programs.
func built(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HPCENV_BUILD")
	if dir == "" {
		dir = "../../build"
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "amd64/hpcenvd")); err != nil {
		t.Fatalf("%v\nnext: make build", err)
	}
	return dir
}

// pack makes the packages of a version, quickly and without compressing them.
func pack(t *testing.T, pages, version, formats string, arch ...string) string {
	t.Helper()
	out := t.TempDir()
	if err := os.Chmod(out, 0o755); err != nil { // apt reads as another account
		t.Fatal(err)
	}
	run(t, []string{"QUICK=yes", "FORMATS=" + formats}, "./pack.sh", append([]string{built(t), pages, out, version}, arch...)...)
	return out
}

func pages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run(t, nil, "./pages.sh", dir, "1.0")
	return dir
}

func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestGuide runs the commands of administrators.md, as they stand there.
func TestGuide(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: nothing is installed, not even in a root of its own")
	}
	text, err := os.ReadFile("../administrators.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := t.TempDir()
	found := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllSubmatch(text, -1)
	if len(found) != 4 { // story-inside.sh knows what each does
		t.Fatalf("%d blocks of commands in administrators.md, want 4", len(found))
	}
	for i, m := range found {
		if err := os.WriteFile(filepath.Join(blocks, fmt.Sprint(i+1)), m[1], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	both, made := t.TempDir(), pages(t)
	for _, version := range []string{"1.0", "1.1"} {
		if err := os.Rename(pack(t, made, version, "deb", "amd64"), filepath.Join(both, version)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(both, 0o755); err != nil {
		t.Fatal(err)
	}
	// The packages are the same whatever Slurm there is.
	suite := cmp.Or(os.Getenv("HPCENV_TEST_ROOT"), "bookworm")
	root := strings.TrimSpace(output(t, "../devcluster/debian-root.sh", suite, "amd64"))
	log := run(t, nil, "unshare", "--mount", "--propagation", "private", "--uts", "--net", "--pid", "--fork", "--kill-child",
		"./story.sh", root, both, blocks)
	if !strings.HasSuffix(log, "== done\n") {
		t.Errorf("it did not come to its end:\n%s", log)
	}
}

// output is what a command prints on standard output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

// TestContents: deb and rpm of one name hold the same, in the places of their systems,
// with the same scripts, and the programs of their architecture.
func TestContents(t *testing.T) {
	out := pack(t, pages(t), "1.2", "deb rpm")
	names := map[string]bool{}
	for _, pair := range []struct{ name, deb, rpm string }{
		{"hpcenv", "amd64", "x86_64"}, {"hpcenv", "arm64", "aarch64"},
		{"hpcenv-slurm", "amd64", "x86_64"}, {"hpcenv-slurm", "arm64", "aarch64"},
		{"hpcenv-daemon", "amd64", "x86_64"},
	} {
		t.Run(pair.name+"/"+pair.deb, func(t *testing.T) {
			deb := filepath.Join(out, pair.name+"_1.2-1_"+pair.deb+".deb")
			rpm := filepath.Join(out, pair.name+"-1.2-1."+pair.rpm+".rpm")
			names[filepath.Base(deb)], names[filepath.Base(rpm)] = true, true

			inDeb := map[string]bool{}
			for line := range strings.Lines(output(t, "dpkg-deb", "--contents", deb)) {
				f := strings.Fields(line)
				if f[0][0] == '-' {
					if f[1] != "root/root" {
						t.Errorf("not root's: %s", line)
					}
					inDeb[strings.TrimPrefix(f[5], ".")+" "+f[0]] = true
				}
			}
			inRPM := map[string]bool{}
			for line := range strings.Lines(output(t, "rpm", "-qp", "--nosignature", "--queryformat", "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]", rpm)) {
				f := strings.Fields(line)
				if f[1] != "root" {
					t.Errorf("not root's: %s", line)
				}
				if f[0][0] == '-' {
					inRPM[f[2]+" "+f[0]] = true
				}
			}
			for file := range inRPM {
				want := strings.NewReplacer(
					"/usr/lib64/slurm/", "/usr/lib/"+pair.rpm+"-linux-gnu/slurm-wlm/",
					"/usr/share/zsh/site-functions/", "/usr/share/zsh/vendor-completions/").Replace(file)
				if !inDeb[want] {
					t.Errorf("the rpm has %s, the deb no %s", file, want)
				}
				delete(inDeb, want)
			}
			for file := range inDeb {
				t.Errorf("only the deb has %s", file)
			}
			if len(inRPM) < 5 {
				t.Errorf("only %d files", len(inRPM))
			}

			scripts := output(t, "rpm", "-qp", "--nosignature", "--scripts", rpm)
			needs := output(t, "rpm", "-qp", "--nosignature", "--requires", rpm)
			info := output(t, "dpkg-deb", "--field", deb, "Version", "Depends", "Architecture")
			if !strings.Contains(info, "Architecture: "+pair.deb+"\n") || !strings.Contains(info, "Version: 1.2-1\n") {
				t.Errorf("the deb says: %s", info)
			}
			if pair.name != "hpcenv" && (!strings.Contains(needs, "hpcenv = 1.2-1\n") || !strings.Contains(info, "hpcenv (= 1.2-1)") ||
				!strings.Contains(needs, "libc.so.6(GLIBC_2.") || !strings.Contains(info, "libc6 (>= 2.")) {
				t.Errorf("dependencies: %s\n%s", needs, info)
			}
			control := t.TempDir()
			output(t, "dpkg-deb", "--control", deb, control)
			for _, s := range []struct{ file, inDeb, inRPM string }{
				{"postinstall", "postinst", "postinstall scriptlet"}, {"preremove", "prerm", "preuninstall scriptlet"}, {"postremove", "postrm", "postuninstall scriptlet"},
			} {
				want, err := os.ReadFile("scripts/" + pair.name + "." + s.file)
				if os.IsNotExist(err) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(filepath.Join(control, s.inDeb))
				if err != nil || string(got) != string(want) {
					t.Errorf("%s of the deb is not scripts/%s.%s (%v)", s.inDeb, pair.name, s.file, err)
				}
				if !strings.Contains(scripts, s.inRPM) || !strings.Contains(scripts, strings.TrimSpace(string(want))) {
					t.Errorf("the rpm's %s is not scripts/%s.%s:\n%s", s.inRPM, pair.name, s.file, scripts)
				}
			}
		})
	}
	files, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !names[f.Name()] {
			t.Errorf("nobody looked at %s", f.Name())
		}
	}
}

// TestScriptlets: called as rpm calls them (how many are installed), scripts know an
// upgrade from a removal.
func TestScriptlets(t *testing.T) {
	conf := t.TempDir()
	text, err := os.ReadFile("scripts/hpcenv-slurm.preremove")
	if err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(string(text), "/etc/slurm/plugstack.conf", conf+"/plugstack.conf")
	script = strings.ReplaceAll(script, "/run/systemd/system", conf+"/none")
	for _, c := range []struct {
		line, arg string
		refused   bool
	}{
		{"required hpcenv_spank.so store=/s owner=1", "0", true},
		{"  required\t/usr/lib64/slurm/hpcenv_spank.so store=/s", "remove", true},
		{"required hpcenv_spank.so store=/s owner=1", "1", false},
		{"required hpcenv_spank.so store=/s owner=1", "upgrade", false},
		{"optional hpcenv_spank.so store=/s owner=1", "0", false},
		{"# required hpcenv_spank.so store=/s owner=1", "remove", false},
		{"required other.so", "0", false},
	} {
		if err := os.WriteFile(conf+"/plugstack.conf", []byte(c.line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", script, "preremove", c.arg).CombinedOutput()
		if (err != nil) != c.refused || c.refused != strings.Contains(string(out), "next: take the line out") {
			t.Errorf("%q, %s: %v: %s", c.line, c.arg, err, out)
		}
	}
}

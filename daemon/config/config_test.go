package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

func load(t *testing.T, file string, environ []string, args ...string) (*Config, error) {
	t.Helper()
	fs := pflag.NewFlagSet("hpcenvd", pflag.ContinueOnError)
	Flags(fs)
	path := filepath.Join(t.TempDir(), "hpcenvd.yaml")
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := fs.Parse(append([]string{"--config", path}, args...)); err != nil {
		t.Fatal(err)
	}
	return Load(fs, environ)
}

func TestLaterWins(t *testing.T) {
	got, err := load(t, "store: /file\nfetch:\n  parallel: 3\n  allow: [\"10.0.0.1:80\"]\ninventory: {refresh: 90s}\nprefix_root: /file/e\n",
		[]string{"HPCENVD_FETCH_PARALLEL=5", "HPCENVD_PREFIX_ROOT=/env/e", "HPCENVD_PLATFORMS=linux-64", "PATH=/bin"},
		"--prefix-root", "/flag/e")
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Store: "/file", Socket: "/run/hpcenv/hpcenvd.sock", PrefixRoot: "/flag/e", Platforms: []string{"linux-64"}, Clusters: []string{},
		ByteCode: true, Delivery: string(image.ClusterDefault), BuildDir: "/var/lib/hpcenv/build", LogLevel: "info", Interpreters: []python.Interpreter{}, Glibc: "2.28", Fetch: Fetch{Allow: []string{"10.0.0.1:80"}, Parallel: 5, Mirrors: []MirrorRule{}, Buckets: []Bucket{}}, Inventory: Inventory{Refresh: 90 * time.Second}, Tmp: Tmp{Keep: 48 * time.Hour},
		GC:        GC{KeepUsed: 168 * time.Hour, UnusedAfter: 2160 * time.Hour, Grace: 72 * time.Hour, Every: 6 * time.Hour},
		Selection: Selection{Rules: []selection.Rule{}, CUDATable: CUDATablePath}, SiteBuilds: []sitebuild.Declaration{},
		Scripts: Scripts{Allow: []ScriptRule{}, JobPlatforms: []string{}, Wait: time.Hour, OnFailure: "degrade", Time: 10 * time.Minute, MemoryMB: 4096, Processes: 128, DiskMB: 4096, Files: 200_000},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for _, c := range []struct{ name, file, env, want string }{
		{"unknown key", "store: /s\nsokcet: /x\n", "", "hpcenvd.yaml:2: unknown key sokcet; the nearest is socket"},
		{"unknown key in a group", "store: /s\nfetch:\n  paralel: 3\n", "", "hpcenvd.yaml:3: unknown key fetch.paralel; the nearest is fetch.parallel"},
		{"twice", "store: /s\nsocket: /x\nstore: /t\n", "", "store"},
		{"group as value", "store: /s\nfetch: 3\n", "", "hpcenvd.yaml:2: fetch must be a mapping"},
		{"value as group", "store: {a: b}\n", "", "hpcenvd.yaml:1: store must be one value"},
		{"not YAML", "store: [\n", "", "hpcenvd.yaml"},
		{"unknown variable", "store: /s\n", "HPCENVD_STOER=/x", "HPCENVD_STOER; the nearest is HPCENVD_STORE"},
		{"no store", "", "", "store: is not set"},
		{"a budget below nothing", "store: /s\ngc: {max_gb: -1}\n", "", "gc: max_gb"},
		{"kept and gone", "store: /s\ngc: {keep_used: 48h, unused_after: 24h}\n", "", "gc.unused_after"},
		{"not a number", "store: /s\nfetch: {parallel: many}\n", "", "parallel"},
		{"not a duration", "store: /s\ntmp: {keep: long}\n", "", "keep"},
		{"out of range", "store: /s\nfetch: {parallel: 0}\n", "", "fetch.parallel: 0"},
		{"rule for users' files", "store: /s\nscripts:\n  allow:\n  - {channel: \"file:///srv/main\", package: x}\n", "", "scripts.allow, entry 1"},
		{"interpreters as a mapping", "store: /s\ninterpreters: {version: 3.12.4}\n", "", "hpcenvd.yaml:2: interpreters must be a list"},
		{"unknown key of an interpreter", "store: /s\ninterpreters:\n- {vesion: 3.12.4}\n", "", "unknown key vesion in interpreters; the nearest is version"},
		{"an interpreter in part", "store: /s\ninterpreters:\n- {version: 3.12.4, platform: linux-64, kind: conda}\n", "", "interpreters, entry 1"},
		{"glibc", "store: /s\nglibc: new\n", "", "glibc"},
		{"rule without a URL", "store: /s\nscripts:\n  allow:\n  - {channel: main, package: x}\n", "", "scripts.allow, entry 1"},
		{"unknown key in a rule", "store: /s\nscripts:\n  allow:\n  - {channel: https://c.example/main, pakage: x}\n", "", "hpcenvd.yaml:4: unknown key pakage in scripts.allow; the nearest is package"},
		{"rules in a variable", "store: /s\n", "HPCENVD_SCRIPTS_ALLOW=x", "in the file only"},
		{"jobs without a spool", "store: /s\nscripts: {job_platforms: [linux-aarch64]}\n", "", "scripts.spool"},
		{"unknown key of a site build", siteBuild("packge: x"), "", "unknown key packge in site_builds; the nearest is package"},
		{"site build without a spool", strings.Replace(siteBuild(""), "spool: /spool", "wait: 1h", 1), "", "scripts.spool"},
		{"site build of no package", siteBuild("package: \"\""), "", "is not the specification of one package"},
		{"site build without a command", siteBuild("script: \"\""), "", "it has no command"},
		{"site build with sbatch's file names", siteBuild("nodes: [{platform: linux-64, sbatch: [--output=/x]}]"), "", "--output=/x"},
		{"site build for another platform", siteBuild("nodes: [{platform: osx-64}]"), "", "is not one of platforms"},
		{"site build for no network", siteBuild("networks: [slingshot]"), "", `network "slingshot" is not one of`},
		{"site build's variable", siteBuild("variables: [{name: CONDA_PREFIX, value: x}]"), "", "is not one that a site build may set"},
		{"site build's source", siteBuild("sources: [{url: https://c.example/x.tar.gz, sha256: abc}]"), "", "sha256"},
		{"two site builds of a name", siteBuild("") + "\n" + strings.Split(siteBuild(""), "site_builds:\n")[1], "", "is the name of another entry"},
		{"relative", "store: s\n", "", `store: "s" is not an absolute path`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.file, []string{c.env})
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// siteBuild is a configuration with one site build, one line of which is another.
func siteBuild(line string) string {
	lines := []string{"name: mpi", "package: legate-mpi-wrapper", "script: /etc/hpcenv/mpi.sh", "nodes: [{platform: linux-64, sbatch: [--partition=all]}]", "variables: [{name: X, value: \"${overlay}/x\"}]"}
	key, _, _ := strings.Cut(line, ":")
	for i, l := range lines {
		if strings.HasPrefix(l, key+":") {
			lines[i], line = line, ""
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return "store: /s\nscripts: {spool: /spool}\nsite_builds:\n- " + strings.Join(lines, "\n  ")
}

func TestSiteBuilds(t *testing.T) {
	c, err := load(t, siteBuild("time: 90s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := c.SiteBuilds[0]
	if d.Name != "mpi" || d.Time != 90*time.Second || d.Nodes[0].Sbatch[0] != "--partition=all" || d.Variables[0].Value != "${overlay}/x" {
		t.Errorf("%+v", d)
	}
}

// The declarations in the administrators' guide are ones that can be used.
func TestTheGuide(t *testing.T) {
	data, err := os.ReadFile("../../contrib/administrators.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(data), "## Site builds\n")
	if !found {
		t.Fatal("no site builds in the guide")
	}
	_, example, _ = strings.Cut(example, "    scripts:\n")
	example, _, _ = strings.Cut(example, "\n\n")
	example = strings.ReplaceAll("store: /s\nscripts:\n"+strings.ReplaceAll("\n"+example, "\n    ", "\n"), "…", strings.Repeat("ab", 32))
	c, err := load(t, example, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, example)
	}
	if len(c.SiteBuilds) != 2 || c.SiteBuilds[0].Conduit != "ofi" || c.SiteBuilds[1].Nodes[1].Platform != "linux-aarch64" || c.SiteBuilds[0].Time != 20*time.Minute {
		t.Errorf("%+v", c.SiteBuilds)
	}
}

// The example that administrators start from holds every key, and is the
// defaults.
func TestTheExample(t *testing.T) {
	data, err := os.ReadFile("../../contrib/systemd/hpcenvd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, string(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := load(t, "store: /shared/hpcenv\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for key := range defaults {
		_, name, group := strings.Cut(key, ".")
		if !group {
			name = key
		}
		if !strings.Contains(string(data), name+":") {
			t.Errorf("the example lacks %s", key)
		}
	}
}

func TestScriptRules(t *testing.T) {
	got, err := load(t, "store: /s\nscripts:\n  allow:\n  - channel: https://c.example/Main\n    package: fonts\n  - {channel: \"http://c.example:8080/x\", package: y}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]ScriptRule{{"https://c.example/Main", "fonts"}, {"http://c.example:8080/x", "y"}}, got.Scripts.Allow); d != "" {
		t.Error(d)
	}
}

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// unexported: where values were said is looked at by itself.
var unexported = cmpopts.IgnoreUnexported(Config{})

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
		GC:             GC{KeepUsed: 168 * time.Hour, UnusedAfter: 2160 * time.Hour, Grace: 72 * time.Hour, Every: 6 * time.Hour},
		Watch:          Watch{Locks: []WatchEntry{}, Every: 5 * time.Minute},
		Administrators: Members{Users: []string{}, Groups: []string{}}, Support: Members{Users: []string{}, Groups: []string{}},
		Budgets:   []Budget{},
		Selection: Selection{Rules: []selection.Rule{}, CUDATable: CUDATablePath}, SiteBuilds: []sitebuild.Declaration{},
		Scripts: Scripts{Allow: []ScriptRule{}, JobPlatforms: []string{}, Wait: time.Hour, OnFailure: "degrade", Time: 10 * time.Minute, MemoryMB: 4096, Processes: 128, DiskMB: 4096, Files: 200_000},
	}
	if d := cmp.Diff(want, got, unexported); d != "" {
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

// The file that administrators start from is the table's own, and is the defaults.
func TestTheExample(t *testing.T) {
	const path = "../../contrib/systemd/hpcenvd.yaml"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Document(), string(data)); d != "" {
		t.Errorf("%s is not what hpcenvd config example prints:\n%s", path, d)
	}
	got, err := load(t, Document(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := load(t, "store: /shared/hpcenv\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, unexported); d != "" {
		t.Error(d)
	}
}

// TestTheTable: each key has a field of its type, a word of documentation, and a value that
// is shown; and each field a key.
func TestTheTable(t *testing.T) {
	c, err := load(t, "store: /s\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, k := range Table() {
		if seen[k.Name] {
			t.Errorf("%s stands twice", k.Name)
		}
		seen[k.Name] = true
		field := c.field(k.Name)
		if field == nil {
			t.Errorf("%s has no field", k.Name)
			continue
		}
		if k.Doc == "" {
			t.Errorf("%s is not documented", k.Name)
		}
		for line := range strings.SplitSeq(k.Doc, "\n") {
			if len(line) > 100 {
				t.Errorf("%s: a line of %d bytes", k.Name, len(line))
			}
		}
		if k.Name != "store" && !reflect.DeepEqual(fmt.Sprint(c.value(k.Name)), fmt.Sprint(k.Default)) {
			t.Errorf("%s is %v, its default is %v", k.Name, c.value(k.Name), k.Default)
		}
	}
	var fields func(v reflect.Type, above string)
	fields = func(v reflect.Type, above string) {
		for i := range v.NumField() {
			tag := v.Field(i).Tag.Get("mapstructure")
			switch {
			case tag == "":
			case isGroup(above + tag):
				fields(v.Field(i).Type, above+tag+".")
			case !seen[above+tag]:
				t.Errorf("%s has a field and no key", above+tag)
			}
		}
	}
	fields(reflect.TypeFor[Config](), "")
}

// TestWhereItWasSaid: values know where they come from, mistakes name the line.
func TestWhereItWasSaid(t *testing.T) {
	c, err := load(t, "store: /s\nfetch:\n  parallel: 3\n  mirrors:\n  - {prefix: https://c.example, urls: [\"https://joe:pw@m.example/t/tok/x\"]}\n", []string{"HPCENVD_LOG_LEVEL=warn"}, "--socket", "/flag")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Value{}
	for _, v := range c.Values() {
		got[v.Key] = v
	}
	for key, want := range map[string]string{"store": "/s hpcenvd.yaml:1", "fetch.parallel": "3 hpcenvd.yaml:3", "log_level": "warn HPCENVD_LOG_LEVEL", "socket": "/flag --socket", "gc.every": "6h ", "fetch.mirrors": "(1 entries) hpcenvd.yaml:4"} {
		v := got[key]
		where := v.Where
		if i := strings.LastIndex(where, "/"); i >= 0 {
			where = where[i+1:]
		}
		if v.Text+" "+where != want {
			t.Errorf("%s: %s %s, want %s", key, v.Text, where, want)
		}
	}
	if text := fmt.Sprint(got["fetch.mirrors"].Value); strings.Contains(text, "pw") || strings.Contains(text, "tok") || !strings.Contains(text, "m.example") {
		t.Errorf("%s", text)
	}
	for file, want := range map[string]string{
		"store: /s\n\nfetch:\n  parallel: many\n":                          "hpcenvd.yaml:4: 'fetch.parallel' cannot parse",
		"store: /s\nfetch: {parallel: 0}\n":                                "hpcenvd.yaml:2: fetch.parallel: 0",
		"store: /s\nscripts:\n  allow:\n  - {channel: main, package: x}\n": "hpcenvd.yaml:4: scripts.allow, entry 1",
		"store: /s\ngc:\n  keep_used: 48h\n  unused_after: 24h\n":          "hpcenvd.yaml:4: gc.unused_after: 24h0m0s is less than gc.keep_used (48h0m0s)",
		"store: /s\ndelivery: picture\n":                                   "hpcenvd.yaml:2: delivery",
	} {
		if _, err := load(t, file, nil); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
}

// TestReload: what may change while the daemon runs is told from the rest.
func TestReload(t *testing.T) {
	old, err := load(t, "store: /s\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := load(t, "store: /t\nlog_level: debug\ngc: {max_gb: 5}\nfetch: {parallel: 2}\nadministrators: {users: [joe]}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	live, restart := Changed(old, next)
	if d := cmp.Diff([]string{"administrators.users", "log_level", "gc.max_gb"}, live); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"store", "fetch.parallel"}, restart); d != "" {
		t.Error(d)
	}
	with := old.With(next, live)
	if with.Store != "/s" || with.LogLevel != "debug" || with.GC.MaxGB != 5 || with.Fetch.Parallel != 8 || old.LogLevel != "info" {
		t.Errorf("%+v", with)
	}
	if live, restart := Changed(with, next); len(live) > 0 || len(restart) != 2 {
		t.Errorf("%v %v", live, restart)
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

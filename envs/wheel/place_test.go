package wheel_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/wheel"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

const prefix = "/opt/hpcenv/e/0123456789abcdef0123456789abcdef"

func layout() wheel.Layout {
	return wheel.NewLayout(prefix, "3.12", "lib/python3.12/site-packages")
}

// everything is a wheel with each kind of path.
var everything = wheeltest.Wheel{Name: "Every.Thing", Version: "1.0",
	Files: []wheeltest.File{
		{Path: "every/__init__.py", Content: "x = 1\n"}, {Path: "every/run", Content: "r", Mode: 0o100755}, {Path: "every/empty/"},
		{Path: "Every.Thing-1.0.data/purelib/pure.py", Content: "p"}, {Path: "Every.Thing-1.0.data/platlib/plat.so", Content: "\x7fELF"},
		{Path: "Every.Thing-1.0.data/headers/h/a.h", Content: "h"}, {Path: "Every.Thing-1.0.data/data/share/d", Content: "d"},
		{Path: "Every.Thing-1.0.data/scripts/tool", Content: "#!python\nmain()\n"}, {Path: "Every.Thing-1.0.data/scripts/tool.sh", Content: "#!/bin/sh\n"},
		{Path: "Every.Thing-1.0.data/scripts/cmd", Content: "#!python\n"},
	},
	Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\ncmd = every.cli:main.run [x]\n[gui_scripts]\nwin = every:win\n")},
}

func TestPlace(t *testing.T) {
	m, _ := taken(t, everything)
	placed, err := wheel.Place(m, layout(), wheel.DirectURL("https://wheels.example/a&b.whl"))
	if err != nil {
		t.Fatal(err)
	}
	const site = "lib/python3.12/site-packages/"
	const info = site + "Every.Thing-1.0.dist-info/"
	var got []string
	text := map[string]string{}
	for _, p := range placed {
		line := p.Path
		switch {
		case p.Dir:
			line += "/"
		case p.Source != "":
			line += " < " + p.Source
		default:
			text[p.Path] = string(p.Data)
		}
		if p.Exec {
			line += " x"
		}
		got = append(got, line)
	}
	want := []string{
		"bin/cmd x", "bin/tool x", "bin/tool.sh < Every.Thing-1.0.data/scripts/tool.sh x", "bin/win x",
		"include/python3.12/every-thing/", "include/python3.12/every-thing/h/a.h < Every.Thing-1.0.data/headers/h/a.h",
		strings.TrimSuffix(site, "/") + "/",
		info + "INSTALLER", info + "METADATA < Every.Thing-1.0.dist-info/METADATA", info + "RECORD", info + "REQUESTED",
		info + "WHEEL < Every.Thing-1.0.dist-info/WHEEL", info + "direct_url.json", info + "entry_points.txt < Every.Thing-1.0.dist-info/entry_points.txt",
		site + "every/__init__.py < every/__init__.py", site + "every/empty/", site + "every/run < every/run x",
		site + "plat.so < Every.Thing-1.0.data/platlib/plat.so", site + "pure.py < Every.Thing-1.0.data/purelib/pure.py",
		"share/d < Every.Thing-1.0.data/data/share/d",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for p, want := range map[string]string{
		"bin/tool":               "#!" + prefix + "/bin/python3.12\nmain()\n",
		info + "INSTALLER":       "hpcenv",
		info + "REQUESTED":       "",
		info + "direct_url.json": `{"url":"https://wheels.example/a&b.whl","archive_info":{}}`,
	} {
		if text[p] != want {
			t.Errorf("%s is %q, want %q", p, text[p], want)
		}
	}
	if !strings.Contains(text["bin/cmd"], "\nfrom every.cli import main\n") || !strings.Contains(text["bin/cmd"], "    sys.exit(main.run())\n") {
		t.Errorf("bin/cmd is %s", text["bin/cmd"])
	}
	checkRecord(t, m, placed, text[info+"RECORD"])
}

// checkRecord holds RECORD against what is placed, by means of its own.
func checkRecord(t *testing.T, m *cache.Manifest, placed []wheel.Placement, record string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(record)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(record, "\n"), "\n")
	if !slices.IsSorted(lines) {
		t.Error("RECORD is not sorted")
	}
	content := map[string]string{}
	for _, e := range m.Entries {
		content[e.Path] = e.SHA256
	}
	want := map[string]string{}
	for _, p := range placed {
		if p.Dir {
			continue
		}
		rel, err := filepath.Rel("lib/python3.12/site-packages", p.Path)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case path.Base(rel) == "RECORD":
			want[rel] = ","
		case p.Source == "":
			sum := sha256.Sum256(p.Data)
			want[rel] = fmt.Sprintf("sha256=%s,%d", base64.RawURLEncoding.EncodeToString(sum[:]), len(p.Data))
		default:
			var sum []byte
			if _, err := fmt.Sscanf(content[p.Source], "%x", &sum); err != nil {
				t.Fatal(err)
			}
			want[rel] = fmt.Sprintf("sha256=%s,%d", base64.RawURLEncoding.EncodeToString(sum), p.Size)
		}
	}
	got := map[string]string{}
	for _, r := range rows {
		got[r[0]] = r[1] + "," + r[2]
	}
	// As the reference has it: the script that an entry point stands for keeps its row.
	if _, ok := got["Every.Thing-1.0.data/scripts/cmd"]; !ok {
		t.Error("the skipped script has no row")
	}
	delete(got, "Every.Thing-1.0.data/scripts/cmd")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestIndexedHasNoDirectURL: PEP 610 forbids the file for what came from an index.
func TestIndexedHasNoDirectURL(t *testing.T) {
	m, _ := taken(t, everything)
	placed, err := wheel.Place(m, layout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range placed {
		if strings.Contains(p.Path, "direct_url") || strings.Contains(string(p.Data), "direct_url") {
			t.Errorf("%s: %s", p.Path, p.Data)
		}
	}
}

// TestFreeThreaded: a build of Python with places of its own has them.
func TestFreeThreaded(t *testing.T) {
	m, _ := taken(t, everything)
	placed, err := wheel.Place(m, wheel.NewLayout(prefix, "3.13", "lib/python3.13t/site-packages"), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]bool{}
	for _, p := range placed {
		at[p.Path] = true
	}
	for _, p := range []string{"lib/python3.13t/site-packages/pure.py", "include/python3.13t/every-thing/h/a.h"} {
		if !at[p] {
			t.Errorf("no %s", p)
		}
	}
}

// TestLongInterpreter: where no kernel reads the first line, sh finds exactly the
// interpreter that is meant, and what follows is what Python runs.
func TestLongInterpreter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30)+"it's")
	if err := os.MkdirAll(dir+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	// In place of Python: it prints how it was called.
	if err := os.WriteFile(dir+"/bin/python3.12", []byte("#!/bin/sh\nprintf '%s|' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	m, _ := taken(t, wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{
		{Path: "w-1.data/scripts/plain", Content: "#!python\nx\n"}, {Path: "w-1.data/scripts/coded", Content: "#!python\n# -*- coding: latin-1 -*-\n\xfc\n"},
	}, Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\nentry = m:f\n")}})
	placed, err := wheel.Place(m, wheel.NewLayout(dir, "3.12", "lib/python3.12/site-packages"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, p := range placed {
		if path.Dir(p.Path) != "bin" {
			continue
		}
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, p.Data, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(script, "a b", "c").Output()
		if err != nil || string(out) != script+"|a b|c|" {
			t.Errorf("%s: %q, %v\n%s", p.Path, out, err, p.Data)
		}
		ran++
	}
	if ran != 3 {
		t.Errorf("%d scripts ran", ran)
	}
}

// TestCannotBeTogether: a wheel whose data would put a file where it has a
// directory is refused when it is placed.
func TestCannotBeTogether(t *testing.T) {
	m, _ := taken(t, wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{
		{Path: "a/b", Content: "x"}, {Path: "w-1.data/purelib/a", Content: "y"},
	}})
	if _, err := wheel.Place(m, layout(), nil); !errors.Is(err, cache.ErrIntegrity) || !strings.Contains(err.Error(), "site-packages/a and") {
		t.Errorf("got %v", err)
	}
}

// TestPlaceIsPure: the same again, and the manifest is as it was.
func TestPlaceIsPure(t *testing.T) {
	m, _ := taken(t, everything)
	before, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	first, err := wheel.Place(m, layout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := wheel.Place(m, layout(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(first, again); d != "" {
			t.Fatal(d)
		}
	}
	after, err := m.Encode()
	if err != nil || string(after) != string(before) {
		t.Errorf("the manifest changed: %v", err)
	}
}

// TestOldMeta: metadata of another version is not read.
func TestOldMeta(t *testing.T) {
	for _, meta := range []string{`{"meta_version":0}`, `{"meta_version":99}`, `{`, ``} {
		if _, err := wheel.Place(&cache.Manifest{Meta: []byte(meta)}, layout(), nil); !errors.Is(err, cache.ErrIntegrity) {
			t.Errorf("%q: %v", meta, err)
		}
	}
}

// TestPipCommands: pip's command is named after the Python at hand.
func TestPipCommands(t *testing.T) {
	m, _ := taken(t, wheeltest.Wheel{Name: "pip", Version: "1", Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\npip = p:m\npip3 = p:m\npip3.8 = p:m\npip3.x = p:m\n")}})
	placed, err := wheel.Place(m, layout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	bin := map[string]bool{}
	for _, p := range placed {
		if path.Dir(p.Path) == "bin" {
			bin[path.Base(p.Path)] = true
		}
	}
	if d := cmp.Diff([]string{"pip", "pip3", "pip3.12", "pip3.x"}, slices.Sorted(maps.Keys(bin))); d != "" {
		t.Error(d)
	}
}

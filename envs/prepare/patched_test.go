package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// without is a lock with a package left out of its environments.
func without(t *testing.T, lock []byte, name string) []byte {
	t.Helper()
	var out []string
	n := 0
	for _, l := range strings.Split(string(lock), "\n") {
		if strings.HasPrefix(l, "      - conda: ") && strings.Contains(l, "/"+name+"-") {
			n++
			continue
		}
		out = append(out, l)
	}
	if n == 0 {
		t.Fatalf("no environment has %s", name)
	}
	return []byte(strings.Join(out, "\n"))
}

// patched lists the sources below a tree that Python imports and that hold its prefix.
func patched(t *testing.T, root, prefix string) (sources []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "lib", "python3.11"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".py") || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		if err == nil && strings.Contains(string(data), prefix) {
			sources = append(sources, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// direct prints, for each source it is given, the sha256 of what this Python itself
// makes of it. It shares no code with the driver.
const direct = `
import hashlib, marshal, sys, importlib.util
for name in sys.argv[1:]:
    source = open(name, "rb").read()
    code = marshal.dumps(compile(source, "hpcenv", "exec", dont_inherit=True, optimize=0), 2)
    head = importlib.util.MAGIC_NUMBER + b"\1\0\0\0" + importlib.util.source_hash(source)
    print(hashlib.sha256(head + code).hexdigest())
`

// Two locks have the same Python. The second environment starts no compiler, though
// its sources have another prefix in them: they have the byte-code that this prefix
// takes, Python finds nothing missing or stale, and all of it was foreseen.
func TestSecondPrefixStartsNoCompiler(t *testing.T) {
	deps := ownStore(t, "linux-64", "linux-aarch64")
	req := demoRequest(t)
	if _, err := Run(context.Background(), deps, req, nil); err != nil {
		t.Fatal(err)
	}
	req.Lock = without(t, req.Lock, "tabulate")
	req.DryRun = true
	dry, err := Run(context.Background(), deps, req, nil)
	if err != nil || dry.DryRun.Estimated || len(dry.DryRun.Environments) != 2 {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	req.DryRun = false
	res, err := Run(context.Background(), deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range res.Environments {
		text, err := json.Marshal(e.Meta)
		if err != nil {
			t.Fatal(err)
		}
		if c := e.Meta.ByteCode; !e.New || c.Processes != 0 || !strings.Contains(string(text), `"processes":0`) || c.Patched < 10 || c.Failed != 0 || len(c.Own) != 0 {
			t.Errorf("%s: new %v, %+v", e.Platform, e.New, c)
		}
		if d := dry.DryRun.Environments[i]; d.ID != e.ID || d.Inodes != e.Meta.Cost.Inodes || d.Bytes != e.Meta.Cost.Bytes {
			t.Errorf("%s: foreseen %+v, it took %+v", e.Platform, d, e.Meta.Cost)
		}
		v, err := Verify(context.Background(), deps.Store, e.Meta)
		if err != nil || !v.Same() || v.Unknown != 0 || v.PlanDigest != v.TreeDigest {
			t.Errorf("%s: %+v, %v", e.Platform, v, err)
		}
	}
	host := res.Environments[0]
	python := filepath.Join(deps.Store.TreePath("linux-64", host.ID), "bin", "python3")
	for _, e := range res.Environments {
		root := deps.Store.TreePath(e.Platform, e.ID)
		sources := patched(t, root, e.Meta.Prefix)
		if len(sources) < 10 {
			t.Fatalf("%s: only %d sources hold the prefix", e.Platform, len(sources))
		}
		cmd := exec.Command(python, append([]string{"-I", "-B", "-W", "ignore", "-c", direct}, sources...)...)
		cmd.Env = []string{"PYTHONHASHSEED=0"}
		out, err := cmd.Output()
		sums := strings.Fields(string(out))
		if err != nil || len(sums) != len(sources) {
			t.Fatalf("%d sums, %v", len(sums), err)
		}
		for i, s := range sources {
			code := filepath.Join(filepath.Dir(s), "__pycache__", strings.TrimSuffix(filepath.Base(s), ".py")+".cpython-311.pyc")
			data, err := os.ReadFile(code)
			if err != nil {
				t.Error(err)
				continue
			}
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != sums[i] {
				t.Errorf("%s: %s is not what this Python makes", e.Platform, code)
			}
		}
	}
	importsCompiled(t, deps.Store.TreePath("linux-64", host.ID))
}

// A source that takes its prefix apart is compiled for each prefix. Of its compiled
// file no plan tells the content: a dry run says that it guesses, and verification
// compares with what was noted when it was made.
func TestByteCodeOfItsOwn(t *testing.T) {
	deps := ownStore(t, "linux-64")
	place := strings.Repeat("/build/place", 8)
	archive, sum := condatest.Package{Name: "cut", Version: "1", Build: "0", Files: []condatest.File{
		{Path: "lib/python3.11/site-packages/cut.py", Content: "last = '" + place + "'[-1]\n", Placeholder: place},
	}}.Write(t, t.TempDir(), false)
	req := demoRequest(t)
	req.Platforms = []string{"linux-64"}
	entry := "- conda: file://" + archive
	text := strings.ReplaceAll(string(req.Lock), "      linux-64:\n", "      linux-64:\n      "+entry+"\n")
	first := []byte(text + fmt.Sprintf("%s\n  sha256: %s\n", entry, sum))
	req.Lock = without(t, first, "tabulate")
	if _, err := Run(context.Background(), deps, req, nil); err != nil {
		t.Fatal(err)
	}
	req.Lock, req.DryRun = first, true
	if dry, err := Run(context.Background(), deps, req, nil); err != nil || !dry.DryRun.Estimated {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	req.DryRun = false
	res, err := Run(context.Background(), deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	const code = "lib/python3.11/site-packages/__pycache__/cut.cpython-311.pyc"
	e := res.Environments[0]
	if c := e.Meta.ByteCode; c.Processes != 1 || len(c.Own) != 1 || c.Own[code] == "" {
		t.Errorf("got %+v", c)
	}
	v, err := Verify(context.Background(), deps.Store, e.Meta)
	if err != nil || !v.Same() || v.Unknown != 1 || v.PlanDigest != "" {
		t.Errorf("%+v, %v", v, err)
	}
	if err := os.WriteFile(filepath.Join(v.Root, code), []byte("evil"), 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err = Verify(context.Background(), deps.Store, e.Meta); err != nil || len(v.Differences) != 1 || v.Differences[0].Path != code {
		t.Errorf("%+v, %v", v, err)
	}
}

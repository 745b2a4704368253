package bytecode

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// greeting is how a driver begins; then it waits for a request.
const greeting = "#!/usr/bin/bash\nprintf 'v\\x2d\\x00\\x00\\x00cpython\\ncpython-311\\na70d0d0a\\n0000000000000000'\nread -r -n 1 x || exit 0\n"

func ingest(t *testing.T, store *cache.Store, archive, sum string) *cache.Manifest {
	t.Helper()
	m, err := store.Ingest(context.Background(), archive, cache.Source{Name: filepath.Base(archive), URL: "file://" + archive, SHA256: sum, Format: cache.FormatConda}, conda.Interpret)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// strange takes a package into a store whose python is a shell script; it greets
// as a driver does and then does what script says.
func strange(t *testing.T, script string, sources int) (*cache.Store, *Request) {
	t.Helper()
	store, err := cache.Create(filepath.Join(t.TempDir(), "s"), cache.Format{Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	files := []condatest.File{{Path: "bin/python3.11", Content: greeting + script, Exec: true}}
	for i := range sources {
		files = append(files, condatest.File{Path: fmt.Sprintf("lib/python3.11/m%d.py", i), Content: fmt.Sprintf("x = %d\n", i)})
	}
	archive, sum := condatest.Package{Name: "python", Version: "3.11.2", Build: "0", Files: files}.Write(t, t.TempDir(), false)
	m := ingest(t, store, archive, sum)
	pkg := Package{SHA256: m.SHA256, Label: "python-3.11.2-0"}
	for _, e := range m.Entries {
		if strings.HasSuffix(e.Path, ".py") {
			pkg.Sources = append(pkg.Sources, Source{Entry: e})
		}
	}
	return store, &Request{Interpreter: &Interpreter{Version: "3.11.2", Packages: []*cache.Manifest{m}}, Packages: []Package{pkg}, Sandbox: box(t)}
}

// A compiler that dies, or answers nonsense, loses the sources at which it does
// so, and nothing else: no hang, no table, no error.
func TestCompilerThatDies(t *testing.T) {
	for name, script := range map[string]string{
		"dies":               "exit 3\n",
		"answers nonsense":   "printf 'zzzzzzzzzzzzzzzz'\n",
		"no byte-code":       "printf 'k\\x02\\x00\\x00\\x00ab'\nread -r x\n",
		"says it is endless": "printf 'k\\xff\\xff\\xff\\xff'\nread -r x\n",
		"another magic":      "printf 'k\\x12\\x00\\x00\\x000123456789abcdefgh'\nread -r x\n",
	} {
		store, req := strange(t, script, 3)
		res, err := Build(context.Background(), store, req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(res.Lost) != 3 || !strings.Contains(res.Lost[0], "python-3.11.2-0: lib/python3.11/m0.py: ") || res.Compiled != 0 {
			t.Errorf("%s: lost %q, compiled %d", name, res.Lost, res.Compiled)
		}
	}
}

// What a strange python says is good for those that have that python only.
func TestResultsBelongToTheirPython(t *testing.T) {
	answerAll := "while :; do printf 'k\\x12\\x00\\x00\\x00\\xa7\\x0d\\x0d\\x0a456789abcdefgh'; read -r -n 1 x || exit 0; done\n"
	_, req := strange(t, answerAll, 1)
	_, other := strange(t, "# another\n"+answerAll, 1)
	if a, b := identity(req.Interpreter.Packages), identity(other.Interpreter.Packages); a == b {
		t.Error("two pythons, one identity")
	}
	if a := identity(append(req.Interpreter.Packages[:1:1], other.Interpreter.Packages...)); a == identity(req.Interpreter.Packages) {
		t.Error("what python is run with is not in the identity")
	}
}

// A python that cannot run alone runs with what it needs, and that is part of
// its identity.
func TestPythonThatNeedsOthers(t *testing.T) {
	const script = "[ -e /python/lib/libneeded.so.1 ] || exit 7\nwhile :; do printf 'k\\x12\\x00\\x00\\x00\\xa7\\x0d\\x0d\\x0a456789abcdefgh'; read -r -d '' -n 12 x || exit 0; done\n"
	store, req := strange(t, "", 1)
	archive, sum := condatest.Package{Name: "python", Version: "3.11.2", Build: "1", Files: []condatest.File{
		{Path: "bin/python3.11", Exec: true, Content: "#!/usr/bin/bash\n[ -e /python/lib/libneeded.so.1 ] || { echo needs more >&2; exit 7; }\n" + strings.TrimPrefix(greeting, "#!/usr/bin/bash\n") + script},
	}}.Write(t, t.TempDir(), false)
	python := ingest(t, store, archive, sum)
	archive, sum = condatest.Package{Name: "needed", Version: "1", Build: "0", Files: []condatest.File{{Path: "lib/libneeded.so.1", Content: "x"}}}.Write(t, t.TempDir(), false)
	needs := ingest(t, store, archive, sum)
	req.Interpreter.Packages = []*cache.Manifest{python}
	if _, err := Build(context.Background(), store, req); !errors.Is(err, ErrInterpreter) || !strings.Contains(err.Error(), "needs more") {
		t.Errorf("alone: %v", err)
	}
	req.Interpreter.Packages = []*cache.Manifest{python, needs}
	res, err := Build(context.Background(), store, req)
	if err != nil || res.Compiled != 1 {
		t.Fatalf("together: %+v, %v", res, err)
	}
	if _, err := os.Stat(store.PycPath(identity([]*cache.Manifest{python, needs}), aboutName)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(store.PycPath(identity([]*cache.Manifest{python}), aboutName)); err == nil {
		t.Error("what was made with another package counts as python's own")
	}
}

// A compiler that never answers is ended with the context.
func TestCancelEndsTheCompiler(t *testing.T) {
	store, req := strange(t, "while :; do :; done\n", 1)
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("enough")
	done := make(chan struct{})
	defer close(done)
	go func() {
		// This appears when the work begins.
		for tick := time.Tick(time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick:
			}
			if found, _ := filepath.Glob(filepath.Join(store.Root(), "tmp", "add-*")); len(found) > 0 {
				cancel(mine)
				return
			}
		}
	}()
	_, err := Build(ctx, store, req)
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(filepath.Join(store.Root(), "tmp"))
	if err != nil || len(left) != 1 {
		t.Errorf("tmp/ holds %v, %v", left, err)
	}
}

// Contents are named by their digest wherever they come from.
func TestRowsNamePoolFiles(t *testing.T) {
	store, req := strange(t, "while :; do printf 'k\\x12\\x00\\x00\\x00\\xa7\\x0d\\x0d\\x0a456789abcdefgh'; read -r -d '' -n 12 x || exit 0; done\n", 1)
	res, err := Build(context.Background(), store, req)
	if err != nil {
		t.Fatal(err)
	}
	row := res.Rows[req.Packages[0].SHA256]["lib/python3.11/m0.py"]
	data, err := os.ReadFile(store.PoolPath(row.Code, false))
	if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != row.Code || int64(len(data)) != row.Size {
		t.Errorf("row %+v, %q, %v, lost %q", row, data, err, res.Lost)
	}
	again, err := Build(context.Background(), store, req)
	if err != nil || again.Processes != 0 || again.Rows[req.Packages[0].SHA256]["lib/python3.11/m0.py"] != row {
		t.Errorf("again: %+v, %v", again, err)
	}
}

package prepare

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// A stand-in for python: it greets as the driver does, and compiles nothing. What it
// says lies in a library that it looks for relative to itself.
const (
	sharedPython = `#include <stdio.h>
#include <string.h>
extern const char *hello(void);
static void answer(char kind, const char *s) {
	unsigned n = strlen(s);
	printf("%c%c%c%c%c%s", kind, n & 255, n >> 8 & 255, 0, 0, s);
	fflush(stdout);
}
int main(void) {
	answer('v', hello());
	for (int kind; (kind = getchar()) != EOF; answer('x', "stand-in")) {
		unsigned n = 0;
		for (int i = 0; i < 4; i++) n |= (unsigned)getchar() << 8 * i;
		while (n--) getchar();
	}
	return 0;
}
`
	sharedLibrary = `const char *hello(void) { return "cpython\ncpython-311\na70d0d0a\n0000000000000000"; }
`
)

// A python that is linked with its libpython runs in the sandbox, too, where the
// loader cannot tell what the program's own place is.
func TestPythonWithSharedLibrary(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("NO GCC ON THIS HOST: this test was not run")
	}
	dir := t.TempDir()
	put := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return at
	}
	build := func(out string, args ...string) string {
		t.Helper()
		at := filepath.Join(dir, out)
		if text, err := exec.Command(cc, append([]string{"-o", at}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		data, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	library := build("libpython3.11.so.1.0", "-shared", "-fPIC", "-Wl,-soname,libpython3.11.so.1.0", put("lib.c", sharedLibrary))
	program := build("python3.11", put("main.c", sharedPython), filepath.Join(dir, "libpython3.11.so.1.0"), "-Wl,-rpath,$ORIGIN/../lib")

	w := newWorld(t)
	p := condatest.Package{Name: "python", Version: "3.11.0", Build: "0", Files: []condatest.File{
		{Path: "lib/python3.11/os.py", Content: "x = 1\n"},
		{Path: "lib/libpython3.11.so.1.0", Content: library, Exec: true},
		{Path: "bin/python3.11", Content: program, Exec: true},
	}}
	req := &Request{Lock: lock(map[string][]string{"linux-64": {w.addPackage(p)}}), Platforms: []string{"linux-64"}}
	w.deps.Sandbox = bytecode.NewSandbox()
	if err := w.deps.Sandbox.Available(); err != nil {
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Environments[0].Meta.ByteCode; c == nil || c.Skipped != "" || c.Failed != 1 {
		t.Errorf("byte-code %+v, notes %q", c, res.Notes)
	}
}

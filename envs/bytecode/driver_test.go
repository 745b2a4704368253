package bytecode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pythons are this host's own Pythons, of different versions where there are
// several. They run the driver without a sandbox: they are no package's code.
func pythons(t *testing.T) []string {
	t.Helper()
	seen := map[string]bool{}
	var out []string
	for _, name := range []string{"python3", "python3.8", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"} {
		text, err := exec.Command(name, "-c", "import sys; print(sys.implementation.cache_tag, sys.executable)").Output()
		tag, exe, ok := strings.Cut(strings.TrimSpace(string(text)), " ")
		if err == nil && ok && !seen[tag] {
			seen[tag] = true
			out = append(out, exe)
		}
	}
	if len(out) == 0 {
		t.Skip("NO PYTHON ON THIS HOST: this test was not run")
	}
	return out
}

// drive lets one driver compile sources in this order.
func drive(t *testing.T, python string, sources []string) (tag string, files map[string]string) {
	t.Helper()
	var in bytes.Buffer
	for _, s := range sources {
		in.WriteByte('c')
		in.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
		in.WriteString(s)
	}
	cmd := exec.Command(python, "-S", "-s", "-B", "-W", "ignore", "driver.py")
	cmd.Env = []string{"PYTHONHASHSEED=0"}
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for i := -1; len(out) > 0; i++ {
		n := int(binary.LittleEndian.Uint32(out[1:]))
		data := string(out[5 : 5+n])
		switch {
		case i < 0:
			tag = strings.Split(data, "\n")[1]
		case out[0] != 'k':
			t.Fatalf("%s: %q: %q", python, sources[i], data)
		default:
			files[sources[i]] = data
		}
		out = out[5+n:]
	}
	return tag, files
}

// The same source gives the same bytes, alone, among others, and again.
func TestOrderChangesNoBytes(t *testing.T) {
	sources := []string{
		"", "x = 1\n", "# -*- coding: latin-1 -*-\ns = '\xe9'\n",
		// Functions that share a set of names.
		"def f(r):\n    if r in {'426', '225', '226'}: return 1\ndef g(r):\n    return r in {'226', '225', '426'}\n",
		"a = ('name', 'x y', 2.5, 1j, b'bytes', None, ..., -7, 10**40)\nb = ('x y', 'name')\n",
		"class C:\n    'doc'\n    def f(self, *, name: 'x y' = 'x y') -> None:\n        return [lambda: name for i in (1, 2, 3)], f'{name!r:>{self}}'\n",
		"def name(x_y, bytes=b'bytes'):\n    return 'x y' + 'name' + '225'\n",
	}
	for _, python := range pythons(t) {
		_, want := drive(t, python, sources)
		back := slices.Clone(sources)
		slices.Reverse(back)
		for _, order := range [][]string{back, slices.Concat(sources, back, sources)} {
			_, got := drive(t, python, order)
			for s := range want {
				if got[s] != want[s] {
					t.Errorf("%s: order changes the byte-code of %q", python, s)
				}
			}
		}
		for _, s := range sources {
			if _, got := drive(t, python, []string{s}); got[s] != want[s] {
				t.Errorf("%s: company changes the byte-code of %q", python, s)
			}
		}
	}
}

// Import takes the file as it is, whatever the source's time, and puts the real
// path into it.
func TestImportTakesTheFile(t *testing.T) {
	for _, python := range pythons(t) {
		const source = "def f(): raise ValueError\nprint('where', f.__code__.co_filename)\n"
		tag, files := drive(t, python, []string{source})
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "__pycache__"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "mod.py"), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		pyc := filepath.Join(dir, "__pycache__", "mod."+tag+".pyc")
		if err := os.WriteFile(pyc, []byte(files[source]), 0o444); err != nil {
			t.Fatal(err)
		}
		for _, always := range []string{"default", "always"} { // always: the hash is right, too
			cmd := exec.Command(python, "--check-hash-based-pycs", always, "-v", "-c", "import mod")
			cmd.Dir = dir
			cmd.Env = []string{"PYTHONPATH=" + dir}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !strings.Contains(string(out), fmt.Sprintf("# code object from '%s'", pyc)) || strings.Contains(string(out), "stale") ||
				!strings.Contains(string(out), "where "+filepath.Join(dir, "mod.py")) {
				t.Errorf("%s: %s", python, out)
			}
		}
	}
}

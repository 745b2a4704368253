package loader_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/elf/loader"
)

// lib is one library of a world, with a random name.
type lib struct {
	file, soname string
	symbol       string
	deps         []*lib
	versions     int // 0: none; 1: V_1; 2: V_1 and V_2
	search       []string
	at           []string // where it lies in the root
	gone         bool
}

// world is a root with a few libraries that need one another.
type world struct {
	t       *testing.T
	r       *rand.Rand
	root    string // of the files
	stage   string // where libraries are linked against one another
	name    string
	dirs    []string
	libs    []*lib
	program string
}

func word(r *rand.Rand) string {
	b := make([]byte, 7)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

func (w *world) chance(percent int) bool { return w.r.IntN(100) < percent }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (w *world) run(dir string, args ...string) {
	w.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(at string, b []byte) {
	w.t.Helper()
	file := filepath.Join(w.root, at)
	w.check(os.MkdirAll(filepath.Dir(file), 0o755))
	w.check(os.RemoveAll(file))
	w.check(os.WriteFile(file, b, 0o755))
}

// path that a library's or program's RPATH or RUNPATH may have.
func (w *world) searchItem() string {
	top := "/opt/" + w.name
	return pick(w.r, "$ORIGIN", "${ORIGIN}", "$ORIGIN/..", "$ORIGIN/../plugins", "${ORIGIN}/sub/", "$ORIGIN/../$LIB",
		top+"/lib", top+"/lib/sub", top+"//plugins/", top+"/${LIB}", "/plat/"+w.name+"/$PLATFORM/lib", "/data/"+w.name,
		"/nowhere/"+w.name, top+"/link", top+"/$NOTHING", "")
}

func (w *world) searchFlags() []string {
	if w.chance(35) {
		return nil
	}
	tags := pick(w.r, "--enable-new-dtags", "--disable-new-dtags")
	var items []string
	for range 1 + w.r.IntN(3) {
		items = append(items, w.searchItem())
	}
	list := strings.Join(items, ":")
	if list == "" {
		list = ":"
	}
	return []string{"-Wl," + tags, "-Wl,-rpath," + list}
}

// newWorld makes a root with count libraries.
func newWorld(t *testing.T, seed uint64, count int) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 7)), root: t.TempDir(), stage: t.TempDir()}
	w.name = word(w.r)
	top := "/opt/" + w.name
	// No directory that is searched has one called x86_64 in it: see doc.go.
	w.dirs = []string{top + "/lib", top + "/lib/sub", top + "/plugins", top + "/" + triplet, "/plat/" + w.name + "/x86_64/lib",
		"/data/" + w.name, "/usr/local/lib", "/usr/lib", "/lib/x86_64-linux-gnu", "/scratch",
		top + "/lib/glibc-hwcaps/x86-64-v2", "/usr/local/lib/glibc-hwcaps/x86-64-v2", "/data/" + w.name + "/glibc-hwcaps/x86-64-v3"}
	for _, dir := range append([]string{"/etc", "/lib64", "/proc"}, w.dirs...) {
		w.check(os.MkdirAll(filepath.Join(w.root, dir), 0o755))
	}
	w.check(os.Symlink("plugins", filepath.Join(w.root, top, "link")))
	for _, f := range []string{interpreter, libc} {
		b, err := os.ReadFile(f)
		w.check(err)
		w.put(f, b)
	}
	for i := range count {
		w.build(i)
	}
	for i, l := range w.libs { // a circle
		if i+1 < len(w.libs) && w.chance(10) {
			l.deps = append(l.deps, w.libs[i+1+w.r.IntN(len(w.libs)-i-1)])
			w.compile(l, l.versions, nil)
		}
	}
	for _, l := range w.libs {
		w.place(l)
	}
	w.program = w.buildProgram()
	w.put("/etc/ld.so.conf", []byte("/usr/local/lib\n"))
	w.run(w.root, "ldconfig", "-r", w.root)
	return w
}

const triplet = "lib/x86_64-linux-gnu"

// build compiles one more library, against earlier ones.
func (w *world) build(i int) {
	l := &lib{symbol: word(w.r), versions: pick(w.r, 0, 0, 1, 2, 2)}
	l.file = "lib" + word(w.r) + ".so" + pick(w.r, "", ".1", ".02")
	l.soname = pick(w.r, l.file, l.file, l.file, l.file, "lib"+word(w.r)+".so.3", "")
	for range w.r.IntN(3) {
		if i > 0 {
			if d := w.libs[w.r.IntN(i)]; !has(l.deps, d) {
				l.deps = append(l.deps, d)
			}
		}
	}
	l.search = w.searchFlags()
	if w.chance(6) {
		l.search = append(l.search, "-Wl,-z,nodefaultlib")
	}
	if w.chance(3) {
		l.search = append(l.search, "-Wl,-z,nodlopen")
	}
	if w.chance(15) {
		l.search = append(l.search, "-lc")
	}
	w.libs = append(w.libs, l)
	w.compile(l, l.versions, nil)
}

func has(list []*lib, l *lib) bool {
	for _, x := range list {
		if x == l {
			return true
		}
	}
	return false
}

// compile makes the library with that many versions; without is what is left out.
func (w *world) compile(l *lib, versions int, without func(n int) bool) {
	var src, script strings.Builder
	for n := 1; n <= max(l.versions, 1); n++ {
		if without == nil || !without(n) {
			fmt.Fprintf(&src, "int %s_%d(void) { return %d; }\n", l.symbol, n, n)
		}
	}
	for n := 1; n <= versions; n++ {
		fmt.Fprintf(&script, "%s_V_%d { global: %s_%d; };\n", strings.ToUpper(l.symbol), n, l.symbol, n)
	}
	fmt.Fprintf(&src, "int use_%s(void) { int n = 0;\n", l.symbol)
	for _, d := range l.deps {
		for n := 1; n <= max(d.versions, 1); n++ {
			weak := ""
			if w.chance(15) {
				weak = "__attribute__((weak)) "
			}
			fmt.Fprintf(&src, "extern %sint %s_%d(void); n += %s_%d();\n", weak, d.symbol, n, d.symbol, n)
		}
	}
	src.WriteString("return n; }\n")
	c := filepath.Join(w.stage, l.symbol+".c")
	w.check(os.WriteFile(c, []byte(src.String()), 0o644))
	args := []string{"gcc", "-shared", "-fPIC", "-nostdlib", "-o", l.file, c, "-Wl,--no-as-needed", "-Wl,-z,lazy", "-L."}
	if l.soname != "" {
		args = append(args, "-Wl,-soname,"+l.soname)
	}
	if script.Len() > 0 {
		v := filepath.Join(w.stage, l.symbol+".map")
		w.check(os.WriteFile(v, []byte(script.String()), 0o644))
		args = append(args, "-Wl,--version-script="+v)
	}
	for _, d := range l.deps {
		if d.soname == "" && w.chance(20) {
			args = append(args, "./"+d.file) // NEEDED has a slash
		} else {
			args = append(args, "-l:"+d.file)
		}
	}
	w.run(w.stage, append(args, l.search...)...)
}

// place puts a library, and what may stand in its way, into the root.
func (w *world) place(l *lib) {
	switch { // it is another one at run time than when others were linked
	case l.versions == 2 && w.chance(35):
		w.compile(l, 1, func(n int) bool { return n == 2 })
	case l.versions > 0 && w.chance(15):
		w.compile(l, 0, nil)
	}
	b, err := os.ReadFile(filepath.Join(w.stage, l.file))
	w.check(err)
	name := l.file
	if l.soname != "" && w.chance(85) {
		name = l.soname
	}
	l.gone = w.chance(5)
	first := path.Join(pick(w.r, w.dirs...), name)
	if w.chance(65) { // most libraries are found by most that need them
		first = path.Join(pick(w.r, "/usr/lib", "/usr/local/lib", "/lib/x86_64-linux-gnu", "/opt/"+w.name+"/lib"), name)
	}
	if !l.gone {
		w.put(first, b)
		l.at = append(l.at, first)
	}
	for range w.r.IntN(3) {
		at := path.Join(pick(w.r, w.dirs...), name)
		if at == first {
			continue
		}
		file := filepath.Join(w.root, at)
		w.check(os.RemoveAll(file))
		switch kind := w.r.IntN(12); {
		case kind < 2:
			w.put(at, b)
		case kind < 4 && !l.gone:
			w.check(os.Symlink(first, file))
		case kind < 6 && !l.gone:
			w.check(os.Link(filepath.Join(w.root, first), file))
		case kind == 6:
			w.put(at, changed(b, 18, 183)) // for aarch64
		case kind == 7:
			w.put(at, changed(b, 4, 1)) // for 32 bits
		case kind == 8 && w.chance(20):
			w.put(at, changed(b, 5, 2)) // big-endian
		case kind == 9 && w.chance(20):
			w.put(at, []byte(pick(w.r, "", "no ELF file, but as long as the header of one would have to be, and longer")))
		case kind == 10 && w.chance(20):
			w.check(os.Mkdir(file, 0o755))
		case kind == 11:
			w.check(os.Symlink("/nowhere", file))
		default:
			continue
		}
		l.at = append(l.at, at)
	}
}

func changed(b []byte, at int, to byte) []byte {
	c := bytes.Clone(b)
	c[at] = to
	return c
}

const probeSource = `#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int n, char **file) {
	if (n < 2 || chdir(file[1])) { perror("chdir"); return 1; }
	for (int i = 2; i < n; i++) {
		if (dlopen(file[i], RTLD_LAZY)) puts("ok");
		else puts(dlerror());
		fflush(stdout);
	}
	return 0;
}
`

// buildProgram compiles what opens libraries, with a search path of its own.
func (w *world) buildProgram() string {
	c := filepath.Join(w.stage, "probe.c")
	w.check(os.WriteFile(c, []byte(probeSource), 0o644))
	w.run(w.stage, append([]string{"gcc", "-o", "probe", c}, w.searchFlags()...)...)
	b, err := os.ReadFile(filepath.Join(w.stage, "probe"))
	w.check(err)
	at := pick(w.r, "/bin/probe", "/opt/"+w.name+"/lib/probe")
	w.put(at, b)
	if w.chance(30) {
		w.check(os.MkdirAll(filepath.Join(w.root, "usr/bin"), 0o755))
		w.check(os.Symlink(at, filepath.Join(w.root, "usr/bin/probe")))
		return "/usr/bin/probe"
	}
	return at
}

// libraryPath is a random LD_LIBRARY_PATH.
func (w *world) libraryPath() string {
	var items []string
	for range w.r.IntN(4) {
		items = append(items, pick(w.r, append([]string{"", "/opt/" + w.name + "/link", "$ORIGIN/../plugins"}, w.dirs...)...))
	}
	return strings.Join(items, pick(w.r, ":", ";"))
}

// inRoot is a shell's text: it starts a program in a root that has /proc, which the
// loader reads what $ORIGIN is in a program from.
const inRoot = `root=$1 path=$2; shift 2
mount --rbind /proc "$root/proc" && exec env -i LD_LIBRARY_PATH="$path" "$(command -v chroot)" "$root" "$@"`

// dlopen asks the real loader, in the root.
func (w *world) dlopen(p loader.Process, files ...string) []string {
	w.t.Helper()
	args := []string{"--mount", "--propagation", "private"}
	if os.Geteuid() != 0 {
		args = append(args, "--map-root-user")
	}
	args = append(args, "sh", "-c", inRoot, "sh", w.root, p.LibraryPath, p.Program, p.Dir)
	out, err := exec.Command("unshare", append(args, files...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s in %s: %v: %s", p.Program, w.root, err, out)
	}
	return strings.Split(strings.TrimRight(string(out), "\n"), "\n")
}

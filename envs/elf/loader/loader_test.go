package loader_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/elf/loader"
)

const (
	interpreter = "/lib64/ld-linux-x86-64.so.2"
	libc        = "/lib/x86_64-linux-gnu/libc.so.6"
	worlds      = 25
	perWorld    = 12
)

// needed skips, loudly, where libraries cannot be made or loaded in a root.
func needed(t *testing.T) {
	t.Helper()
	skip := func(why string) {
		if os.Getenv("HPCENV_REQUIRE_GCC") != "" {
			t.Fatal(why)
		}
		t.Skip("NO REAL LOADER TO COMPARE WITH: this test was not run: " + why)
	}
	if runtime.GOARCH != "amd64" {
		skip("it is written for amd64")
	}
	for _, program := range []string{"gcc", "ldconfig"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(err.Error())
		}
	}
	for _, file := range []string{interpreter, libc} {
		if _, err := os.Stat(file); err != nil {
			skip("it is written for Debian's multiarch: " + err.Error())
		}
	}
	args := []string{"--mount", "true"}
	if os.Geteuid() != 0 {
		args = append([]string{"--map-root-user"}, args...)
	}
	if out, err := exec.Command("unshare", args...).CombinedOutput(); err != nil {
		skip(fmt.Sprintf("no process can be started in a root: %v: %s", err, out))
	}
}

var (
	saysVersion = regexp.MustCompile("^(.*): version `(.*)' not found \\(required by (.*)\\)$")
	saysMissing = regexp.MustCompile(`^(.*): (cannot open shared object file.*|wrong ELF class: .*)$`)
	saysBroken  = regexp.MustCompile(`^(.*): (invalid ELF header|file too short|cannot read file data: .*|ELF file data encoding not .*)$`)
	saysNoOpen  = regexp.MustCompile(`^(.*): shared object cannot be dlopen\(\)ed$`)
)

// inWords is a verdict as the loader would say it, without the reason of an
// unloadable file.
func inWords(v loader.Verdict) string {
	last := ""
	if len(v.Chain) > 0 {
		last = v.Chain[len(v.Chain)-1]
	}
	switch v.Problem {
	case loader.NoLibrary:
		return "no library " + v.Missing
	case loader.NoVersion:
		return "no version " + v.Missing + " in " + v.In + " for " + last
	case loader.Unloadable:
		if strings.Contains(v.Why, "not to be opened") {
			return "not to be opened " + path.Base(v.Missing)
		}
		return "unloadable " + v.Missing
	}
	return "ok"
}

// said is the real loader's message in the same words.
func said(t *testing.T, line string) string {
	t.Helper()
	if m := saysVersion.FindStringSubmatch(line); m != nil {
		return "no version " + m[2] + " in " + m[1] + " for " + m[3]
	}
	if m := saysMissing.FindStringSubmatch(line); m != nil {
		return "no library " + m[1]
	}
	if m := saysBroken.FindStringSubmatch(line); m != nil {
		return "unloadable " + m[1]
	}
	if m := saysNoOpen.FindStringSubmatch(line); m != nil { // it names no path
		return "not to be opened " + path.Base(m[1])
	}
	if line != "ok" {
		t.Fatalf("the loader says what this test does not know: %s", line)
	}
	return line
}

// levels that the real loader uses on this processor.
func levels(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command(interpreter, "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for l := 4; l >= 2; l-- {
		if strings.Contains(string(out), fmt.Sprintf("x86-64-v%d (supported, searched)", l)) {
			return loader.X86Levels(l)
		}
	}
	return nil
}

// platform is what $PLATFORM stands for here, by the rule; where the real loader tells
// (glibc 2.33 and newer), it has to be the same.
func platform(t *testing.T, caps []string) string {
	t.Helper()
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	vendor := ""
	if m := regexp.MustCompile(`(?m)^vendor_id\s*:\s*(\S+)`).FindSubmatch(info); m != nil {
		vendor = string(m[1])
	}
	rule := loader.X86Platform(vendor, len(caps)+1)
	out, err := exec.Command(interpreter, "--list-diagnostics").Output()
	if err != nil {
		t.Logf("this loader does not tell what $PLATFORM stands for: %v", err)
		return rule
	}
	if m := regexp.MustCompile(`(?m)^dl_platform="(.*)"$`).FindSubmatch(out); m == nil || string(m[1]) != rule {
		t.Errorf("the loader has $PLATFORM %q, the rule says %q (%s, x86-64-v%d)", m, rule, vendor, len(caps)+1)
	}
	return rule
}

// TestVerdictsAreTheLoaders: 300 libraries with random names, search paths,
// versions and dependencies, some gone, are judged, and opened by a real program in
// the same root: from a path, by name, with an LD_LIBRARY_PATH, one after the other
// in one process. LOADER_SEED makes other worlds.
func TestVerdictsAreTheLoaders(t *testing.T) {
	needed(t)
	seed := uint64(1)
	if s := os.Getenv("LOADER_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	caps := levels(t)
	plat := platform(t, caps)
	var libs, asked, missing, versions, broken atomic.Int64
	t.Run("worlds", func(t *testing.T) {
		for i := range worlds {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, seed*1000+uint64(i), perWorld)
				s, err := loader.Open(loader.Root{Dir: w.root}, loader.Options{Machine: "x86_64", PageSize: 4096, HWCaps: caps, Platform: plat})
				if err != nil {
					t.Fatal(err)
				}
				if s.Problem != "" {
					t.Errorf("the cache: %s", s.Problem)
				}
				// The same with a prefix that is known and not read.
				known, err := loader.Open(loader.Root{Dir: w.root, Recorded: recorded(t, w.root, "/opt/"+w.name)}, s.Options)
				if err != nil {
					t.Fatal(err)
				}
				libs.Add(int64(len(w.libs)))
				for range 3 {
					p := loader.Process{Program: w.program, LibraryPath: w.libraryPath(), Dir: pick(w.r, "/", "/scratch")}
					space, v, err := s.Start(p)
					if err != nil || space == nil {
						t.Fatalf("the program does not start: %v, %v", v, err)
					}
					unread, v2, err := known.Start(p)
					if err != nil || unread == nil || !cmp.Equal(v, v2) {
						t.Fatalf("with the prefix recorded: %v, %v; not %v", v2, err, v)
					}
					var all []string
					for _, l := range w.libs {
						file := pick(w.r, append(append(append([]string{l.file, l.soname, "$ORIGIN/../lib/" + l.file}, l.at...), l.at...), l.at...)...)
						if file == "" {
							file = l.file
						}
						all = append(all, file)
						v, err := space.Judge(file)
						if err != nil {
							t.Fatal(err)
						}
						asked.Add(1)
						switch v.Problem {
						case loader.NoLibrary:
							missing.Add(1)
						case loader.NoVersion:
							versions.Add(1)
						case loader.Unloadable:
							broken.Add(1)
						}
						line := w.dlopen(p, file)[0]
						if got, want := inWords(v), said(t, line); got != want {
							t.Errorf("%s with %q in %s: %s\n  verdict %s (%s)\n  dlopen  %s", p.Program, p.LibraryPath, p.Dir, file, got, v, line)
						}
						namesTheCulprit(t, w, v)
						if v2, err := unread.Judge(file); err != nil || !cmp.Equal(v, v2) {
							t.Errorf("%s with the prefix recorded: %v, %v; not %v", file, v2, err, v)
						}
					}
					for i, line := range w.dlopen(p, all...) {
						v, err := space.Open(all[i])
						if err != nil {
							t.Fatal(err)
						}
						if v2, err := unread.Open(all[i]); err != nil || !cmp.Equal(v, v2) {
							t.Errorf("%s with the prefix recorded: %v, %v; not %v", all[i], v2, err, v)
						}
						if got, want := inWords(v), said(t, line); got != want {
							t.Errorf("%s with %q in %s: %s after %q\n  verdict %s\n  dlopen  %s", p.Program, p.LibraryPath, p.Dir, all[i], all[:i], v, line)
							break
						}
					}
				}
			})
		}
	})
	t.Logf("%d libraries, %d times judged: %d lacked a library, %d a version, %d met an unloadable file",
		libs.Load(), asked.Load(), missing.Load(), versions.Load(), broken.Load())
	if libs.Load() < 300 || missing.Load() < 50 || versions.Load() < 5 || broken.Load() < 5 || missing.Load()+versions.Load()+broken.Load() > asked.Load()*3/4 {
		t.Error("too few libraries of each sort: the worlds show too little")
	}
}

// namesTheCulprit: who needs what is missing is in the chain's last file, as readelf
// reads it.
func namesTheCulprit(t *testing.T, w *world, v loader.Verdict) {
	t.Helper()
	if v.Problem != loader.NoLibrary || len(v.Chain) == 0 {
		return
	}
	last := v.Chain[len(v.Chain)-1]
	if !path.IsAbs(last) {
		return
	}
	cmd := exec.Command("readelf", "-d", "./"+last)
	cmd.Dir = w.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return // the path has links that lead out of the root when read from here
	}
	if !strings.Contains(string(out), "["+v.Missing+"]") {
		t.Errorf("%s is said to need %s; readelf says\n%s", last, v.Missing, out)
	}
}

package facts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

const x86 = "file /proc/sys/kernel/arch x86_64\n"

func TestGlibcWhere(t *testing.T) {
	for _, c := range []struct{ name, tree, want string }{
		{"usual", "libc 2.34 x86_64 /lib64/libc.so.6", "2.34"},
		{"debian", "libc 2.36 x86_64 /usr/lib/x86_64-linux-gnu/libc.so.6\nlink /lib usr/lib", "2.36"},
		{"arch", "libc 2.40 x86_64 /usr/lib/libc.so.6", "2.40"},
		{"beside the loader", "libc 2.38 x86_64 /nix/store/g/lib/libc.so.6\nfile /nix/store/g/lib/ld-linux-x86-64.so.2\nlink /lib64/ld-linux-x86-64.so.2 /nix/store/g/lib/ld-linux-x86-64.so.2\nlibc 2.17 x86_64 /usr/lib64/libc.so.6", "2.38"},
		{"a link stays below the root", "libc 2.28 x86_64 /lib64/libc-2.28.so\nlink /lib64/libc.so.6 /lib64/libc-2.28.so", "2.28"},
		{"another machine's first", "libc 2.31 i686 /lib/x86_64-linux-gnu/libc.so.6\nlibc 2.35 x86_64 /usr/lib64/libc.so.6", "2.35"},
		{"aarch64", "file /proc/sys/kernel/arch aarch64\nlibc 2.31 aarch64 /lib/aarch64-linux-gnu/libc.so.6", "2.31"},
	} {
		tree := c.tree
		if !strings.Contains(tree, "kernel/arch") {
			tree = x86 + tree
		}
		if f := read(t, tree+"\n"); f.Glibc != c.want {
			t.Errorf("%s: %q, want %q (%q)", c.name, f.Glibc, c.want, f.Problems)
		}
	}
}

func TestGlibcUnreadable(t *testing.T) {
	for _, c := range []struct{ name, tree, problem string }{
		{"none", "", "no libc.so.6"},
		{"musl", "file /lib/ld-musl-x86_64.so.1\n", "musl"},
		{"not ELF", "file /lib64/libc.so.6 /* GNU ld script */\n", "bad magic"},
		{"other machine", "libc 2.31 aarch64 /lib64/libc.so.6\n", "EM_AARCH64"},
		{"a loop of links", "link /lib64/libc.so.6 libc.so.6\n", "too many levels"},
		{"a directory", "unreadable /lib64/libc.so.6\n", "no regular file"},
	} {
		f := read(t, x86+c.tree)
		if f.Glibc != "" || !hasProblem(f, "glibc: ", c.problem) {
			t.Errorf("%s: %q, problems %q", c.name, f.Glibc, f.Problems)
		}
	}
}

// TestGlibcTruncated cuts a library off everywhere: an answer or a problem, and
// never a wrong version.
func TestGlibcTruncated(t *testing.T) {
	lib, err := factstest.LibC("x86_64", "", "GLIBC_2.2.5", "GLIBC_2.28")
	if err != nil {
		t.Fatal(err)
	}
	root := tree(t, x86)
	for n := 0; n < len(lib); n += 7 {
		writeTree(t, root, "lib64/libc.so.6", string(lib[:n]))
		if f := facts.Read(t.Context(), root); f.Glibc != "" && f.Glibc != "2.28" {
			t.Errorf("%d bytes of it: %q", n, f.Glibc)
		} else if f.Glibc == "" && !hasProblem(f, "glibc: ") {
			t.Errorf("%d bytes of it: neither version nor problem", n)
		}
	}
}

// TestGlibcBanner: a release that defines no version of its own is named by the
// banner; a banner below what is defined is not believed.
func TestGlibcBanner(t *testing.T) {
	for _, c := range []struct{ release, defines, want string }{
		{"2.40", "GLIBC_2.39", "2.40"}, {"2.9", "GLIBC_2.34", "2.34"}, {"3.1", "GLIBC_2.34", "2.34"}, {"", "GLIBC_2.34", "2.34"},
	} {
		lib, err := factstest.LibC("x86_64", c.release, "GLIBC_2.2.5", c.defines, "GLIBC_PRIVATE")
		if err != nil {
			t.Fatal(err)
		}
		root := tree(t, x86)
		writeTree(t, root, "lib64/libc.so.6", string(lib))
		if f := facts.Read(t.Context(), root); f.Glibc != c.want {
			t.Errorf("banner %q, defines %s: %q, want %q (%q)", c.release, c.defines, f.Glibc, c.want, f.Problems)
		}
	}
}

// TestLive reads this host and asks the host itself for what it can tell.
func TestLive(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this host is no node")
	}
	f := facts.Read(t.Context(), "/")
	uname, err := exec.Command("uname", "-rm").Output()
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Fields(string(uname)); f.Kernel != w[0] || f.Machine != w[1] {
		t.Errorf("kernel %s, machine %s; uname says %q", f.Kernel, f.Machine, w)
	}
	if f.PageSize != os.Getpagesize() {
		t.Errorf("page size %d", f.PageSize)
	}
	if f.CPU.Name == "" && f.Platform != "" {
		t.Errorf("the processor has no name: %q", f.Problems)
	}
	getconf, err := exec.Command("getconf", "GNU_LIBC_VERSION").Output()
	if err != nil {
		t.Logf("getconf does not tell glibc: %v", err)
	} else if got := "glibc " + f.Glibc; got != strings.TrimSpace(string(getconf)) {
		t.Errorf("%s; getconf says %s", got, getconf)
	}
	// The same through a root directory that is another name of /.
	link := filepath.Join(t.TempDir(), "root")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	if r := facts.Read(t.Context(), link); r.Glibc != f.Glibc || r.PageSize != f.PageSize || r.CPU.Name != f.CPU.Name || r.Machine != f.Machine {
		t.Errorf("through a root: %+v, live: %+v", r, f)
	}
}

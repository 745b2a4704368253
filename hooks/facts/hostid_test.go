package facts_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

const hostIDSource = `#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%08x\n", (unsigned)gethostid()); return 0; }
`

// realHostID starts a program in a root, on a host of that name.
const realHostID = `hostname "$2" && exec env -i "$(command -v chroot)" "$1" /hostid`

// TestHostIDIsTheCLibrarys: for roots with an identifier of their own, with hosts files
// of many forms, and with neither.
func TestHostIDIsTheCLibrarys(t *testing.T) {
	skip := func(why any) {
		if os.Getenv("HPCENV_REQUIRE_GCC") != "" {
			t.Fatal(why)
		}
		t.Skip("NO C LIBRARY TO COMPARE WITH: this test was not run: ", why)
	}
	if out, err := exec.Command("unshare", "--uts", "true").CombinedOutput(); err != nil {
		skip(fmt.Sprintf("%v: %s", err, out))
	}
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	src := filepath.Join(t.TempDir(), "hostid.c")
	if err := os.WriteFile(src, []byte(hostIDSource), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-o", filepath.Join(root, "hostid"), src).CombinedOutput(); err != nil {
		skip(fmt.Sprintf("%v: %s", err, out))
	}
	out, err := exec.Command("ldd", filepath.Join(root, "hostid")).CombinedOutput()
	if err != nil {
		skip(fmt.Sprintf("%v: %s", err, out))
	}
	for _, word := range strings.Fields(string(out)) {
		if !filepath.IsAbs(word) {
			continue
		}
		b, err := os.ReadFile(word)
		if err != nil {
			t.Fatal(err)
		}
		put(word, string(b))
	}
	put("/etc/nsswitch.conf", "hosts: files\n")
	put("/proc/sys/kernel/hostname", "node7\n")
	const none = "none"
	for i, c := range []struct{ id, hosts string }{
		{"\x01\x02\x03\x04", none},
		{"\xff\xfe\x80\x90longer", "10.1.2.3 node7\n"},
		{"abc", "10.1.2.3 node7\n"}, // too short
		{none, "127.0.0.1 localhost\n127.0.1.1 node7.cluster node7\n"},
		{none, "# 10.9.9.9 node7\n10.1.2.200\tother NODE7 # node7\n10.1.2.4 node7\n"},
		{none, "::1 node7\n"},
		{none, "fe80::1 node7\n::ffff:10.5.6.7 node7\n"},
		{none, "10.1.2.3.4 node7\nnonsense\n10.1.2 node7\n172.16.254.3 x node7"},
	} {
		for name, text := range map[string]string{"/etc/hostid": c.id, "/etc/hosts": c.hosts} {
			if text == none {
				if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
					t.Fatal(err)
				}
			} else {
				put(name, text)
			}
		}
		out, err := exec.Command("unshare", "--uts", "--mount", "sh", "-c", realHostID, "sh", root, "node7").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		f := facts.Read(context.Background(), root)
		if want := strings.TrimSpace(string(out)); f.HostID != want {
			t.Errorf("%d: %q, %q: %s, the C library says %s", i, c.id, c.hosts, f.HostID, want)
		}
	}
	put("/etc/hosts", "10.1.2.3 another\n")
	if f := facts.Read(context.Background(), root); f.HostID != "" {
		t.Errorf("%q without an address in a file", f.HostID)
	}
}

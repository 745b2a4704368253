package factstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefuses: a tree with a mistake is no tree.
func TestRefuses(t *testing.T) {
	for _, text := range []string{"what /x\n", "file\n", "link /x\n", "mode 9 /x\n", "remove /absent\n", "include absent\n", "libc 2.34 z80 /lib/libc.so.6\n", "mode 0644 /absent\n"} {
		if err := UnpackText([]byte(text), t.TempDir()); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if err := Unpack("absent", t.TempDir()); err == nil || !strings.Contains(err.Error(), "ib-gpu") {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestLibC: another reader of ELF files sees the same versions.
func TestLibC(t *testing.T) {
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("READELF ABSENT: this test was not run")
	}
	lib, err := LibC("aarch64", "2.31", "GLIBC_2.17", "GLIBC_2.31")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "libc.so.6")
	if err := os.WriteFile(file, lib, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(readelf, "-h", "-V", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"AArch64", "Name: GLIBC_2.17", "Name: GLIBC_2.31", "DYN (Shared object file)"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("readelf does not see %q in\n%s", want, out)
		}
	}
}

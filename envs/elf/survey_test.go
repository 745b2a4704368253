package elf_test

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	hpcelf "github.com/hpcenv/hpcenv/envs/elf"
)

// prefix writes files below a new directory; "→ target" makes a link.
func prefix(t *testing.T, files map[string]any) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch c := content.(type) {
		case spec:
			err = os.WriteFile(at, c.Make(), 0o755)
		case []byte:
			err = os.WriteFile(at, c, 0o644)
		case string:
			if to, ok := strings.CutPrefix(c, "→ "); ok {
				err = os.Symlink(to, at)
			} else {
				err = os.WriteFile(at, []byte(c), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func needing(library string, versions ...string) []needSpec {
	return []needSpec{{Library: library, Names: versions}}
}

func look(t *testing.T, root string, o hpcelf.Options) *hpcelf.Survey {
	t.Helper()
	s, err := hpcelf.Look(context.Background(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSurvey: floors with the file that sets them, what the node must have, foreign
// and broken files, page sizes.
func TestSurvey(t *testing.T) {
	cut := (spec{SOName: "libcut.so"}).Make()
	root := prefix(t, map[string]any{
		"bin/tool":  spec{Interp: "/lib64/ld-linux-x86-64.so.2", Needed: []string{"libc.so.6", "libone.so.1"}, Needs: needing("libc.so.6", "GLIBC_2.2.5", "GLIBC_2.17")},
		"bin/text":  "#!/bin/sh\n",
		"lib/empty": "",
		"lib/libone.so.1.2": spec{SOName: "libone.so.1", Needed: []string{"libc.so.6", "libcuda.so.1", "libstdc++.so.6"}, Align: 65536,
			Needs: append(needing("libc.so.6", "GLIBC_2.28"), needing("libstdc++.so.6", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "CXXABI_1.3.9")...)},
		"lib/libone.so.1": "→ libone.so.1.2",
		"lib/libtwo.so": spec{Needed: []string{"libc.so.6", "libone.so.1", "libtwo.so"}, Needs: append(needing("libc.so.6", "GLIBC_PRIVATE", "GLIBC_2.4"),
			needSpec{Library: "libm.so.6", Names: []string{"GLIBC_2.99"}, Weak: true})},
		"lib/libstdc++.so.6.0.33":    spec{SOName: "libstdc++.so.6", Needed: []string{"libm.so.6"}, Defines: []string{"GLIBCXX_3.4", "GLIBCXX_3.4.29", "CXXABI_1.3.15", "CXXABI_FLOAT128"}, Align: 1 << 21},
		"lib/stubs/libcuda.so":       spec{SOName: "libcuda.so.1", Needs: needing("libc.so.6", "GLIBC_2.90")},
		"x/sysroot/lib64/libc.so.6":  spec{SOName: "libc.so.6", Defines: []string{"GLIBC_2.80"}},
		"lib/libarm.so":              spec{Machine: elf.EM_AARCH64, SOName: "libarm.so", Needs: needing("libc.so.6", "GLIBC_2.70")},
		"lib/libold.so":              spec{Class: 32, Machine: elf.EM_386},
		"lib/libcut.so":              cut[:len(cut)/4],
		"share/firmware.elf":         spec{Align: 16},
		"lib/obj.o":                  spec{Kind: elf.ET_REL, Static: true, Machine: elf.EM_AARCH64},
		"lib/libgpu.so":              spec{SOName: "libgpu.so", Sections: map[string][]byte{".nv_fatbin": container(code{2, 90}, code{1, 90})}, Needed: []string{"libcuda.so.1"}},
		"lib/plug/needs-by-link.so":  spec{Needed: []string{"libone-link.so"}},
		"lib/plug/libone-link.so":    "→ ../libone.so.1",
		"lib/plug/libdangling.so":    "→ nowhere",
		"lib/plug/libround.so":       "→ libround.so",
		"lib/plug/needs-dangling.so": spec{Needed: []string{"libdangling.so", "libround.so"}},
	})
	s := look(t, root, hpcelf.Options{})
	if s.Machine != "x86_64" || s.Files != 20 || s.ELF != 14 {
		t.Errorf("machine %s, %d files, %d of them ELF", s.Machine, s.Files, s.ELF)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	check("glibc", s.Glibc, &hpcelf.Floor{Version: "2.28", File: "lib/libone.so.1.2", Library: "libc.so.6"})
	check("glibcxx", s.GLIBCXX, &hpcelf.Floor{Version: "3.4.30", File: "lib/libone.so.1.2", Library: "libstdc++.so.6", Provided: "3.4.29", By: "lib/libstdc++.so.6.0.33"})
	check("cxxabi", s.CXXABI, &hpcelf.Floor{Version: "1.3.9", File: "lib/libone.so.1.2", Library: "libstdc++.so.6", Provided: "1.3.15", By: "lib/libstdc++.so.6.0.33"})
	check("ok", []bool{s.Glibc.OK(), s.GLIBCXX.OK(), s.CXXABI.OK()}, []bool{false, false, true})
	check("page", s.Page, &hpcelf.PageFloor{Size: 4096, File: "bin/tool"})
	check("node", s.Node, []hpcelf.NodeLibrary{
		{Name: "libc.so.6", File: "bin/tool", Files: 3, Version: "GLIBC_2.28"},
		{Name: "libcuda.so.1", File: "lib/libgpu.so", Files: 2},
		{Name: "libdangling.so", File: "lib/plug/needs-dangling.so", Files: 1},
		{Name: "libm.so.6", File: "lib/libstdc++.so.6.0.33", Files: 1},
		{Name: "libround.so", File: "lib/plug/needs-dangling.so", Files: 1},
	})
	check("foreign", s.Foreign, []hpcelf.Foreign{{File: "lib/libarm.so", Machine: "aarch64"}, {File: "lib/libold.so", Machine: "i686"}})
	check("cuda", s.CUDA, []hpcelf.CUDA{{File: "lib/libgpu.so", Code: []string{"sm_90", "compute_90"}}})
	if len(s.Broken) != 1 || s.Broken[0].File != "lib/libcut.so" {
		t.Errorf("broken: %v", s.Broken)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back hpcelf.Survey
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(&back, s) {
		t.Errorf("JSON: %v, %s", err, cmp.Diff(s, &back))
	}
	if arm := look(t, root, hpcelf.Options{Machine: "aarch64"}); len(arm.Foreign) < 5 || arm.Glibc.Version != "2.70" {
		t.Errorf("for aarch64: %+v", arm)
	}
}

// TestCopies: two copies of a library of which a process has one, and who has both
// on its path.
func TestCopies(t *testing.T) {
	const site = "lib/python3.12/site-packages/"
	ucp := func(mark string) spec { return spec{SOName: "libucp.so.0", RunPath: mark} }
	for name, c := range map[string]struct {
		files map[string]any
		want  []hpcelf.Copies
	}{
		"links and equal files are no copies": {map[string]any{
			"lib/libucp.so.0.1": ucp("a"), "lib/libucp.so.0": "→ libucp.so.0.1", "lib/again/libucp.so.0": ucp("a"), "lib/libucpx.so.0": ucp("b"),
			"lib/libmpi.so.40": spec{SOName: "libmpi.so.40"}, "lib/libmpi_cxx.so.40": spec{SOName: "libmpi_cxx.so.40"},
		}, []hpcelf.Copies{{Library: "libucp", Files: []string{"lib/again/libucp.so.0", "lib/libucpx.so.0"}}}},
		"by its own path": {map[string]any{
			"lib/libucp.so.0": ucp("a"), site + "libucx/lib/libucp.so.0": ucp("b"),
			site + "mod.so": spec{RunPath: "$ORIGIN/libucx/lib:${ORIGIN}/../.."},
		}, []hpcelf.Copies{{Library: "libucp", Files: []string{"lib/libucp.so.0", site + "libucx/lib/libucp.so.0"}, By: site + "mod.so"}}},
		"by the prefix's path": {map[string]any{
			"lib/libucp.so.0": ucp("a"), "other/libucp.so.0": ucp("b"), "lib/mod.so": spec{RPath: "/opt/hpcenv/e/x/other:/opt/hpcenv/e/x/lib/"},
		}, []hpcelf.Copies{{Library: "libucp", Files: []string{"lib/libucp.so.0", "other/libucp.so.0"}, By: "lib/mod.so"}}},
		"by the program's": {map[string]any{
			"lib/libcudart.so.12": spec{SOName: "libcudart.so.12"}, site + "a.libs/libcudart-256e6409.so.12.9": spec{SOName: "libcudart-256e6409.so.12.9"},
			"bin/python3": spec{Interp: "/lib64/ld.so", RPath: "$ORIGIN/../lib"}, site + "mod.so": spec{RPath: "$ORIGIN/a.libs"},
		}, []hpcelf.Copies{{Library: "libcudart", Files: []string{"lib/libcudart.so.12", site + "a.libs/libcudart-256e6409.so.12.9"}, By: site + "mod.so", Program: "bin/python3"}}},
		"not by the program's where a RUNPATH is": {map[string]any{
			"lib/libibverbs.so.1": spec{SOName: "libibverbs.so.1", Flags1: 1}, "b/libibverbs.so.1": spec{SOName: "libibverbs.so.1"},
			"bin/python3": spec{Interp: "/lib64/ld.so", RPath: "$ORIGIN/../lib"}, "c/mod.so": spec{RunPath: "$ORIGIN/../b"},
		}, []hpcelf.Copies{{Library: "libibverbs", Files: []string{"b/libibverbs.so.1", "lib/libibverbs.so.1"}}}},
	} {
		got := look(t, prefix(t, c.files), hpcelf.Options{Prefix: "/opt/hpcenv/e/x"}).Copies
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func hash(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// TestCache: facts come back by content, with no more than the file's first bytes; what is broken or of
// other content is read anew; many may do it at once.
func TestCache(t *testing.T) {
	s := full()
	content := s.Make()
	root := prefix(t, map[string]any{"lib/a.so": s, "lib/text": "no"})
	dir := t.TempDir()
	c := hpcelf.Dir(dir)
	files := []hpcelf.File{{Path: "lib/a.so", SHA256: hash(content)}, {Path: "lib/text", SHA256: hash([]byte("no"))}}
	scan := func() []hpcelf.Scanned {
		t.Helper()
		got, err := hpcelf.Scan(context.Background(), root, files, c)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := hpcelf.Scan(context.Background(), root, files, c); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	first := scan()
	kept, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || len(kept) != 1 || filepath.Base(kept[0]) != hash(content) {
		t.Fatalf("kept are %v, %v", kept, err)
	}
	whole, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range [][]byte{nil, whole[:len(whole)/2], []byte(strings.Replace(string(whole), hash(content)[:8], "00000000", 1))} {
		if err := errorOf(os.Chmod(kept[0], 0o644), os.WriteFile(kept[0], broken, 0o644)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(first, scan()); d != "" {
			t.Errorf("with a broken record: %s", d)
		}
		if now, err := os.ReadFile(kept[0]); err != nil || !slices.Equal(now, whole) {
			t.Errorf("a broken record stays: %q, %v", now, err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "lib/a.so"), content[:20], 0o644); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, scan()); d != "" {
		t.Errorf("with the file's first bytes: %s", d)
	}
	latin := &hpcelf.Facts{RunPath: "/opt/caf\xe9"}
	if err := c.Save(hash(nil), latin); err != nil {
		t.Fatal(err)
	}
	if back, err := c.Load(hash(nil)); err != nil || back != nil {
		t.Errorf("facts that JSON would change are kept: %+v, %v", back, err)
	}
	if _, err := c.Load("../../etc/passwd"); err == nil {
		t.Error("a key that is no sha256 is taken")
	}
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestScanEnds: with the storage's error, and when it is called off.
func TestScanEnds(t *testing.T) {
	root := prefix(t, map[string]any{"a.so": full()})
	if _, err := hpcelf.Scan(context.Background(), root, []hpcelf.File{{Path: "a.so"}, {Path: "gone.so"}}, nil); err == nil || !strings.Contains(err.Error(), "gone.so") {
		t.Errorf("a file that is gone: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := hpcelf.Scan(ctx, root, []hpcelf.File{{Path: "a.so"}}, nil); err == nil {
		t.Error("it does not end when it is called off")
	}
}

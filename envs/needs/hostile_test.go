package needs

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/internal/elftest"
)

// TestHostilePackage: files that each name thousands of libraries and directories cost
// no more than a bounded time, and are refused.
func TestHostilePackage(t *testing.T) {
	root := t.TempDir()
	put := func(at string, s elftest.Spec) {
		file := filepath.Join(root, at)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, s.Make(), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const dirs, each = 60, 2000
	var search, needed []string
	for i := range dirs {
		search = append(search, fmt.Sprintf("$ORIGIN/../d%d", i))
		needed = append(needed, fmt.Sprintf("libx%d.so", i))
		var names []string
		for j := range each {
			names = append(names, fmt.Sprintf("liby%d-%d.so", i, j))
		}
		put(fmt.Sprintf("d%d/libx%d.so", i, i), elftest.Spec{SOName: fmt.Sprintf("libx%d.so", i), Needed: names})
	}
	put("bin/python", elftest.Spec{Kind: elf.ET_EXEC, Interp: "/lib64/ld-linux-x86-64.so.2", RPath: strings.Join(search, ":"), Needed: needed})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Of(ctx, &Input{Root: root, Prefix: "/p", Subdir: "linux-64"})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrTooMuch) {
			t.Errorf("%v", err)
		}
	case <-ctx.Done():
		t.Error("it does not end")
	}
}

// TestChainOfLibraries: libraries of which each needs the next, opened late, are all late.
func TestChainOfLibraries(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "lib/ucx"), 0o755); err != nil {
		t.Fatal(err)
	}
	const length = 300
	for i := range length {
		at := fmt.Sprintf("lib/libchain%d.so", i)
		if i == 0 {
			at = "lib/ucx/libuct_chain.so"
		}
		spec := elftest.Spec{SOName: filepath.Base(at), RunPath: "$ORIGIN:$ORIGIN/..", Needed: []string{fmt.Sprintf("libchain%d.so", i+1)}}
		if i == length-1 {
			spec.Needed = []string{"libnode.so.1", "libchain1.so"} // and round
		}
		if err := os.WriteFile(filepath.Join(root, at), spec.Make(), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n, err := Of(t.Context(), &Input{Root: root, Prefix: "/p", Subdir: "linux-64"})
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Libraries) != 1 || n.Libraries[0].Name != "libnode.so.1" {
		t.Errorf("%+v", n.Libraries)
	}
}

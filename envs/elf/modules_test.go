package elf_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	hpcelf "github.com/hpcenv/hpcenv/envs/elf"
)

func word(r *rand.Rand) string {
	b := make([]byte, 6)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// TestModules: files with random names in the places of modules are found, once
// each with the links to it; what lies beside is not.
func TestModules(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const site = "lib/python3.13/site-packages/"
	a, b, c, d := word(r), word(r), word(r), word(r)
	root := prefix(t, map[string]any{
		"lib/ucx/libuct_" + a + ".so.0.0.0":                    spec{},
		"lib/ucx/libuct_" + a + ".so.0":                        "→ libuct_" + a + ".so.0.0.0",
		"lib/ucx/libuct_" + a + ".so":                          "→ libuct_" + a + ".so.0",
		"lib/ucx/libuct_" + a + ".la":                          "text",
		"lib/ucx/sub.so/x":                                     "a directory with the name of a module",
		"lib/ucx/lib" + d + ".so":                              "→ nowhere",
		"lib/libuct.so.0":                                      spec{},
		site + "libucx/lib/ucx/lib" + b + ".so.0":              spec{},
		site + "libucx/lib/libucp.so.0":                        spec{},
		"lib/libfabric/lib" + c + "-fi.so":                     spec{},
		"lib/libfabric/lib" + c + ".so":                        spec{},
		"gex-wrapper/" + a + "/lib64/librealm_gex_wrapper.so":  spec{},
		"gex-wrapper/src/gex_wrapper.c":                        "text",
		"lib/realm_ucp_bootstrap_" + b + ".so":                 spec{},
		"lib/openmpi/mca_btl_" + c + ".so":                     spec{},
		"lib/openmpi/lib" + c + ".so":                          spec{},
		"lib/libnccl-net-" + d + ".so":                         spec{},
		"lib/libnccl.so.2":                                     spec{},
		"mpi-wrapper/" + a + "/b/c/liblegate_mpi_wrapper.so.1": spec{},
	})
	if err := os.Symlink("lib", filepath.Join(root, "lib64")); err != nil {
		t.Fatal(err)
	}
	got, err := hpcelf.Modules(root)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]hpcelf.Module{}
	for _, m := range got {
		of[m.Path] = m
	}
	want := map[string]hpcelf.Module{}
	add := func(by, path string, links ...string) { want[path] = hpcelf.Module{Of: by, Path: path, Links: links} }
	add("UCX", "lib/ucx/libuct_"+a+".so.0.0.0", "lib/ucx/libuct_"+a+".so", "lib/ucx/libuct_"+a+".so.0")
	add("UCX", "lib/ucx/lib"+d+".so")
	add("UCX", site+"libucx/lib/ucx/lib"+b+".so.0")
	add("libfabric", "lib/libfabric/lib"+c+"-fi.so")
	add("GASNet-EX", "gex-wrapper/"+a+"/lib64/librealm_gex_wrapper.so")
	add("Realm", "lib/realm_ucp_bootstrap_"+b+".so")
	add("OpenMPI", "lib/openmpi/mca_btl_"+c+".so")
	add("NCCL", "lib/libnccl-net-"+d+".so")
	add("Legate", "mpi-wrapper/"+a+"/b/c/liblegate_mpi_wrapper.so.1")
	if d := cmp.Diff(want, of); d != "" || len(got) != len(of) {
		t.Errorf("%d modules: %s", len(got), d)
	}
	if none, err := hpcelf.Modules(t.TempDir()); err != nil || none != nil {
		t.Errorf("an empty prefix: %v, %v", none, err)
	}
	if _, err := hpcelf.Modules(filepath.Join(root, "nowhere")); err != nil {
		t.Errorf("no prefix: %v", err)
	}
}

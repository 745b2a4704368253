//go:build cluster

package clustertest

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/elftest"
)

// cmdModuleProject: module-project DIR: a project in DIR whose UCX has a module for
// InfiniBand that needs a library which neither it nor any node has: under a new name
// each time, which $CULPRIT holds.
func (c *cluster) cmdModuleProject(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: module-project DIR")
		}
		var random [4]byte
		if _, err := rand.Read(random[:]); err != nil {
			ts.Fatalf("%v", err)
		}
		culprit := fmt.Sprintf("libverbs%x.so.1", random)
		ts.Setenv("CULPRIT", culprit)
		library := func(name string, needs ...string) condatest.File {
			s := elftest.Spec{SOName: name, Needed: append(needs, "libc.so.6"), Needs: []elftest.Need{{Library: "libc.so.6", Names: []string{"GLIBC_2.17"}}}, Align: 65536}
			return condatest.File{Path: "lib/" + name, Content: string(s.Make())}
		}
		module := library("libuct_ib.so.0", culprit)
		module.Path = "lib/ucx/" + "libuct_ib.so.0"
		ucx := condatest.Package{Name: "ucx", Version: "1.18.0", Build: fmt.Sprintf("h%x_0", random),
			Depends: []string{"__glibc >=2.17,<3.0.a0"},
			Files:   []condatest.File{library("libuct.so.0"), library("libucs.so.0"), library("libucp.so.0"), module, {Path: "bin/which-one", Exec: true, Content: "#!/bin/sh\necho $(hostname) runs\n"}}}
		c.smallProject(t, ts, args[0], map[string][]condatest.Package{"default": {ucx}}, "#!/bin/bash\n#SBATCH --env-lock=.\nsrun which-one\nsrun which-one\n")
	}
}

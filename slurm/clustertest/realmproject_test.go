//go:build cluster

package clustertest

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/elftest"
)

// cmdRealmProject: realm-project DIR: a project in DIR whose environment has UCX and a
// plugin of Realm's. The job runs which-one on its nodes.
func (c *cluster) cmdRealmProject(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: realm-project DIR")
		}
		library := func(path, name string) condatest.File {
			return condatest.File{Path: path + name, Content: string(elftest.Spec{SOName: name, Needed: []string{"libc.so.6"}, Align: 65536}.Make())}
		}
		packages := []condatest.Package{
			{Name: "ucx", Version: "1.19.0", Build: "h0", Files: []condatest.File{library("lib/ucx/", "libuct_ib.so")}},
			{Name: "realm", Version: "25.11", Build: "h0", Files: []condatest.File{
				library("lib/", "realm_ucp_bootstrap_p2p.so"),
				{Path: "bin/which-one", Exec: true, Content: "#!/bin/sh\necho $(hostname) runs\n"},
			}},
		}
		c.smallProject(t, ts, args[0], map[string][]condatest.Package{"default": packages}, "#!/bin/bash\n#SBATCH --env-lock=.\nsrun which-one\n")
	}
}

//go:build linux

package cmd

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// modulePackages have modules for python: fine those that can be imported, broken those
// that cannot, in many ways.
func modulePackages() []condatest.Package {
	const crash = "import os, signal\nos.kill(os.getpid(), signal."
	of := func(name string, modules map[string]string) condatest.Package {
		p := condatest.Package{Name: name, Version: "1.0", Build: "0", Subdir: "linux-64"}
		for path, code := range modules {
			p.Files = append(p.Files, condatest.File{Path: "lib/python3.11/site-packages/" + path, Content: code})
		}
		return p
	}
	return []condatest.Package{
		of("fine", map[string]string{"fine/__init__.py": "", "shared/part/__init__.py": "", "_private.py": "raise SystemExit(9)\n",
			"tests/__init__.py": "raise SystemExit(9)\n", "test_more.py": "raise SystemExit(9)\n", "fine.libs/readme": ""}),
		of("broken", map[string]string{"crashes.py": "open('wrote', 'w').close()\n" + crash + "SIGSEGV)\n", "illegal.py": crash + "SIGILL)\n", "hangs.py": "import time\ntime.sleep(600)\n",
			"raises/__init__.py": "raise ImportError('libcuda.so.1: cannot open shared object file: No such file or directory')\n"}),
	}
}

// treeCmd: tree NAME DIR unpacks a recorded node (package factstest).
func treeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree NAME DIR")
	}
	ts.Check(factstest.Unpack(args[0], ts.MkAbs(args[1])))
}

//go:build cluster

package clustertest

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// plugstack NODE ARGUMENT…: the node's line of the plugin has these arguments, too, until
// the story ends.
func (c *cluster) cmdPlugstack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: plugstack NODE ARGUMENT…")
	}
	c.change(ts, c.plugstack(args[0]), func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			if strings.Contains(line, "hpcenv_spank.so") {
				lines[i] = strings.TrimSuffix(line, "\n") + " " + strings.Join(args[1:], " ") + "\n"
			}
		}
		return strings.Join(lines, "")
	})
}

// pyxis before|after: the submit host and the nodes have another plugin, before or after
// hpcenv's line, of pyxis's name and with its option; until the story ends.
func (c *cluster) cmdPyxis(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: pyxis before|after")
	}
	lib := filepath.Join(c.bin, "spank_pyxis.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", lib, filepath.Join(c.root, "slurm/clustertest/testdata/spank/pyxis.c")).CombinedOutput(); err != nil {
		ts.Fatalf("%s: %v", out, err)
	}
	files, err := filepath.Glob(filepath.Join(c.state, "nodes/n*/etc/plugstack.conf"))
	ts.Check(err)
	line := "required " + lib + "\n"
	for _, path := range append(files, filepath.Join(c.state, "etc/plugstack.conf")) {
		c.change(ts, path, func(text string) string {
			if args[0] == "before" {
				return line + text
			}
			return text + line
		})
	}
}

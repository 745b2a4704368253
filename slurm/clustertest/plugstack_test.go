//go:build cluster

package clustertest

import (
	"os"
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
	lib := c.spankPlugin(ts, "pyxis")
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

// spankPlugin makes a plugin of testdata/spank for the Slurm of the cluster and returns
// its path, spank_NAME.so.
func (c *cluster) spankPlugin(ts *testscript.TestScript, name string) string {
	source, err := os.Open(filepath.Join(c.root, "slurm/clustertest/testdata/spank", name+".c"))
	ts.Check(err)
	lib := filepath.Join(c.bin, "spank_"+name+".so")
	cmd := c.command("cc", "-shared", "-fPIC", "-o", lib, "-x", "c", "-")
	cmd.Stdin = source
	out, err := cmd.CombinedOutput()
	ts.Check(source.Close())
	if err != nil {
		ts.Fatalf("%s: %v", out, err)
	}
	return lib
}

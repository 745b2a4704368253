//go:build linux

package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/standalonetest"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

// placeholder is {{url FILE}}, {{sha256 FILE}} or {{at FILE}} (both, as a list of
// interpreters has them), where FILE is the name of a wheel, of a conda python as
// linux-64/python-3.12.4-0.conda, or of an archive of python-build-standalone as
// cpython-3.12.4-0-install_only.tar.gz (0 = the build).
var placeholder = regexp.MustCompile(`\{\{(url|sha256|at) ([^}]+)\}\}`)

// fillCmd: fill FILE… writes what placeholders stand for into files; what they name
// is made and served by the channel.
func fillCmd(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		at := ts.MkAbs(name)
		data, err := os.ReadFile(at)
		ts.Check(err)
		text := placeholder.ReplaceAllStringFunc(string(data), func(m string) string {
			parts := placeholder.FindStringSubmatch(m)
			url, sum, err := of(ts).offer(parts[2])
			ts.Check(err)
			switch parts[1] {
			case "url":
				return url
			case "sha256":
				return sum
			}
			return fmt.Sprintf("url: %s\n    sha256: %s", url, sum)
		})
		ts.Check(os.WriteFile(at, []byte(text), 0o644))
	}
}

// offer makes a file, if it is not there, and says where it is.
func (c *channel) offer(file string) (url, sum string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data := c.made[file]
	if data == nil {
		if data, err = makeFile(c.t, file); err != nil {
			return "", "", err
		}
		c.made[file] = data
	}
	h := sha256.Sum256(data)
	return c.server.URL + "/ch/" + file, hex.EncodeToString(h[:]), nil
}

// makeFile makes a wheel with a module and a command that tell what it is, or a
// package python that is a shell script.
func makeFile(t testing.TB, file string) ([]byte, error) {
	if name, ok := strings.CutSuffix(file, ".whl"); ok {
		parts := strings.SplitN(name, "-", 3)
		w := wheeltest.Wheel{Name: parts[0], Version: parts[1], Tag: parts[2], Files: []wheeltest.File{
			{Path: parts[0] + "/__init__.py", Content: "what = '" + name + "'\n\n\ndef main():\n    print(what)\n"},
		}, Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\n" + parts[0] + " = " + parts[0] + ":main\n")}}
		return w.Bytes(t), nil
	}
	if rest, ok := strings.CutPrefix(file, "cpython-"); ok {
		parts := strings.SplitN(rest, "-", 3)
		files := standalonetest.Small(parts[0], parts[1])
		switch {
		case strings.HasSuffix(file, "-full.tar.zst"):
			return standalonetest.TarZst(t, append(files, standalonetest.File{Path: "PYTHON.json", Content: "{}"})), nil
		case strings.HasSuffix(file, ".tar.zst"):
			return standalonetest.TarZst(t, files), nil
		}
		return standalonetest.TarGz(t, files), nil
	}
	parts := strings.Split(strings.TrimSuffix(path.Base(file), ".conda"), "-")
	if len(parts) != 3 || parts[0] != "python" {
		return nil, fmt.Errorf("%s is neither a wheel nor a python", file)
	}
	minor := strings.Join(strings.SplitN(parts[1], ".", 3)[:2], ".")
	p := condatest.Package{Name: "python", Version: parts[1], Build: parts[2], Subdir: path.Dir(file), Files: []condatest.File{
		{Path: "bin/python" + minor, Content: "#!/bin/sh\necho python " + parts[1] + " build " + parts[2] + "\n", Exec: true},
		{Path: "bin/python", Link: "python" + minor},
		{Path: "lib/python" + minor + "/readme", Content: "no sources\n"},
	}}
	if parts[2] == vendoring {
		p.Files = append(p.Files, condatest.File{Path: "lib/python" + minor + "/site-packages/pure/__init__.py", Content: "what = 'of conda'\n"})
	}
	return p.Conda(t), nil
}

// vendoring is the build of a python that brings a module which a wheel pure has, too.
const vendoring = "vendoring"

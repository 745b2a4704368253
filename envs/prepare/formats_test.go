package prepare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

var entryLine = regexp.MustCompile(`^- conda: (\S+)\n  sha256: (\S+)\n`)

// TestEveryFormat: the same package, locked in every format that is read, is
// installed, and known by its index from then on.
func TestEveryFormat(t *testing.T) {
	w := newWorld(t)
	entry := w.add("a", "linux-64")
	m := entryLine.FindStringSubmatch(entry)
	url, sha := m[1], m[2]
	environments := "environments:\n  default:\n    channels:\n    - url: https://conda.example/\n    packages:\n      linux-64:\n      - conda: " + url + "\n"
	old := "packages:\n- kind: conda\n  name: a\n  version: '1'\n  build: '0'\n  subdir: linux-64\n  url: " + url + "\n  sha256: " + sha + "\n"
	for name, text := range map[string]string{
		"pixi.lock 4": "version: 4\n" + environments + old,
		"pixi.lock 5": "version: 5\n" + environments + old,
		"pixi.lock 6": "version: 6\n" + environments + "packages:\n" + entry,
		"pixi.lock 7": "version: 7\nplatforms:\n- name: linux-64\n" + environments + "packages:\n" + entry,
		"conda-lock.yml": "version: 1\nmetadata:\n  channels:\n  - url: c\n  platforms:\n  - linux-64\npackage:\n" +
			"- name: a\n  version: '1'\n  manager: conda\n  platform: linux-64\n  dependencies: {}\n  url: " + url + "\n  hash:\n    sha256: " + sha + "\n  category: main\n  optional: false\n",
		"@EXPLICIT": "# platform: linux-64\n@EXPLICIT\n" + url + "#sha256:" + sha + "\n",
	} {
		req := &Request{Lock: []byte(text), Platforms: []string{"linux-64"}}
		res, err := Run(context.Background(), w.deps, req, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := res.Environments[0]
		if _, err := os.Stat(filepath.Join(w.deps.Store.TreePath("linux-64", got.ID), "share", "a")); err != nil || got.Name != "default" {
			t.Errorf("%s: %s, %v", name, got.Name, err)
		}
		index, err := readIndex(w.deps.Store, res.LockDigest)
		if err != nil || index == nil || index.Environments["default"].ID != got.ID {
			t.Errorf("%s: the index is %+v, %v", name, index, err)
		}
	}
}

// TestPythonPackagesAreRefused: nothing of a lock is left out silently: what would
// have to be built, wheels without hashes, Python packages without a Python.
func TestPythonPackagesAreRefused(t *testing.T) {
	w := newWorld(t)
	text := string(lock(map[string][]string{"linux-64": {w.add("a", "linux-64")}}))
	at := strings.Index(text, "packages:\n- conda")
	refs, entries := "", ""
	for _, location := range []string{"https://pypi.example/one-1-py3-none-any.whl", "https://pypi.example/two-1.tar.gz", "./three"} {
		name := regexp.MustCompile(`one|two|three`).FindString(location)
		refs += fmt.Sprintf("      - pypi: %s\n", location)
		entries += fmt.Sprintf("- pypi: %s\n  name: %s\n  version: '1'\n", location, name)
	}
	_, err := Run(context.Background(), w.deps, &Request{Lock: []byte(text[:at] + refs + text[at:] + entries), Platforms: []string{"linux-64"}}, nil)
	if !errors.Is(err, lockfile.ErrLock) {
		t.Fatal(err)
	}
	for _, part := range []string{"one", "two", "one-1-py3-none-any.whl (line 16) has no sha256", "source archive", "python is not there"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "./three") {
		t.Errorf("a local source tree is refused, which is not part of the prefix: %v", err)
	}
}

//go:build cluster

package clustertest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// howto is the page whose project the stories of unlike nodes use, and whose
// commands one of them runs.
const howto = "contrib/mixed-clusters.md"

// mixedServer serves the channels of that project: all of one test process, so
// that an environment is made once for all stories.
type mixedServer struct {
	once sync.Once
	url  string
	lock []byte
}

// cmdMixedProject: mixed-project [-own NAME] DIR: the project of
// contrib/mixed-clusters.md (its files are those that the page shows) with a pixi.lock
// for it, in DIR, owned by the first user. Its Python and NumPy are the demo's, its
// other packages are small ones with the names, builds and dependencies that such
// packages have. With -own nobody has prepared it yet.
func (c *cluster) cmdMixedProject(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		own := ""
		if len(args) == 3 && args[0] == "-own" {
			own, args = "/"+args[1], args[2:]
		}
		if neg || len(args) != 1 {
			ts.Fatalf("usage: mixed-project [-own NAME] DIR")
		}
		c.mixed.once.Do(func() { c.serveMixed(t) })
		if c.mixed.lock == nil {
			ts.Fatalf("the project's channels could not be made: an earlier story says why")
		}
		page, err := readPage(filepath.Join(c.root, howto))
		ts.Check(err)
		files := map[string]string{"pixi.lock": strings.ReplaceAll(string(c.mixed.lock), c.mixed.url+"/", c.mixed.url+own+"/")}
		for name, text := range page.files {
			files[name] = text
		}
		dir := ts.MkAbs(args[0])
		for name, text := range files {
			path := filepath.Join(dir, name)
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			ts.Check(os.WriteFile(path, []byte(text), 0o644))
		}
		ts.Check(chownTree(dir, user1))
	}
}

// serveMixed makes the packages, serves them for the rest of the process, and
// writes the lock.
func (c *cluster) serveMixed(t *testing.T) {
	t.Helper()
	demo, err := c.channelTool("path").Output()
	if err != nil {
		t.Fatal(err)
	}
	archives := map[string][]byte{}
	disk := http.StripPrefix("/conda-forge", http.FileServer(http.Dir(strings.TrimSpace(string(demo)))))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// What mixed-project -own put before the channel's name.
		if first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); first != channelForge && first != channelLegate {
			r.URL.Path = "/" + rest
		}
		data, ok := archives[r.URL.Path]
		if !ok {
			disk.ServeHTTP(w, r)
			return
		}
		if _, err := w.Write(data); err != nil {
			fmt.Fprintln(os.Stderr, "clustertest: a client left:", err)
		}
	}))
	w := &mixedLock{url: srv.URL, blocks: map[string]string{}}
	demoLock, err := os.ReadFile(filepath.Join(c.projects, "pixi.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.takePython(demoLock); err != nil {
		t.Fatal(err)
	}
	for _, p := range mixedPackages(t) {
		data := p.Conda(t)
		archives["/"+p.path()] = data
		w.add(p, data)
	}
	c.mixed.url, c.mixed.lock = srv.URL, w.text()
	if _, err := lockfile.Parse(c.mixed.lock); err != nil {
		t.Fatal(err)
	}
}

// mixedLock puts a pixi.lock together.
type mixedLock struct {
	url string
	// python is the closure of Python and NumPy by platform, as URLs; blocks are the
	// lock's records by URL; own are the project's other packages.
	python map[string][]string
	blocks map[string]string
	own    []mixedPackage
}

// takePython takes Python and NumPy, with all they need, from the demo's lock, as
// if they were of this server's channel.
func (w *mixedLock) takePython(demo []byte) error {
	lock, err := lockfile.Parse(demo)
	if err != nil {
		return err
	}
	env, err := lock.Environment("default")
	if err != nil {
		return err
	}
	text := string(demo)
	_, records, found := strings.Cut(text, "\npackages:\n")
	if !found {
		return fmt.Errorf("the demo's lock has no packages")
	}
	byURL := map[string]string{}
	for _, block := range strings.Split("\n"+strings.TrimSuffix(records, "\n"), "\n- conda: ")[1:] {
		url, rest, _ := strings.Cut(block, "\n")
		byURL[strings.Trim(url, "\"'")] = rest
	}
	w.python = map[string][]string{}
	for _, p := range env.Platforms {
		by := map[string]*lockfile.CondaPackage{}
		for _, pkg := range p.Conda {
			by[pkg.Name] = pkg
		}
		todo, seen := []string{"python", "numpy"}, map[string]bool{}
		for ; len(todo) > 0; todo = todo[1:] {
			name, _, _ := strings.Cut(todo[0], " ")
			pkg := by[name]
			if pkg == nil || seen[name] {
				continue
			}
			seen[name] = true
			todo = append(todo, pkg.Depends...)
			url := w.url + "/conda-forge/" + pkg.Subdir + "/" + pkg.FileName
			if byURL[pkg.Location] == "" {
				return fmt.Errorf("the demo's lock has no record of %s", pkg.Location)
			}
			w.blocks[url] = byURL[pkg.Location]
			w.python[p.Subdir] = append(w.python[p.Subdir], url)
		}
	}
	return nil
}

// add a package and its record.
func (w *mixedLock) add(p mixedPackage, data []byte) {
	var b strings.Builder
	if p.Noarch != "" {
		fmt.Fprintf(&b, "  noarch: %s\n", p.Noarch)
	}
	fmt.Fprintf(&b, "  sha256: %x\n", sha256.Sum256(data))
	for _, list := range []struct {
		key   string
		specs []string
	}{{"depends", p.Depends}, {"constrains", p.Constrains}} {
		if len(list.specs) > 0 {
			fmt.Fprintf(&b, "  %s:\n", list.key)
		}
		for _, s := range list.specs {
			fmt.Fprintf(&b, "  - %q\n", s)
		}
	}
	fmt.Fprintf(&b, "  size: %d", len(data))
	w.blocks[w.url+"/"+p.path()] = b.String()
	w.own = append(w.own, p)
}

// text is the lock.
func (w *mixedLock) text() []byte {
	var b bytes.Buffer
	b.WriteString("version: 6\nenvironments:\n")
	for _, env := range mixedEnvironments {
		fmt.Fprintf(&b, "  %s:\n    channels:\n", env.name)
		for _, channel := range env.channels {
			fmt.Fprintf(&b, "    - url: %s/%s/\n", w.url, channel)
		}
		b.WriteString("    packages:\n")
		for _, platform := range []string{"linux-64", "linux-aarch64"} {
			fmt.Fprintf(&b, "      %s:\n", platform)
			for _, url := range w.python[platform] {
				fmt.Fprintf(&b, "      - conda: %s\n", url)
			}
			for _, p := range w.own {
				if (p.TheSubdir() == platform || p.TheSubdir() == "noarch") && slices.Contains(p.in, env.name) {
					fmt.Fprintf(&b, "      - conda: %s/%s\n", w.url, p.path())
				}
			}
			b.WriteString("      - pypi: ./\n")
		}
	}
	b.WriteString("packages:\n")
	urls := make([]string, 0, len(w.blocks))
	for url := range w.blocks {
		urls = append(urls, url)
	}
	slices.Sort(urls)
	for _, url := range urls {
		fmt.Fprintf(&b, "- conda: %s\n%s\n", url, w.blocks[url])
	}
	b.WriteString("- pypi: ./\n  name: my-project\n  version: 0.1.0\n  requires_python: '>=3.11'\n  editable: true\n")
	return b.Bytes()
}

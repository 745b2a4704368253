//go:build linux

package cmd

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/elftest"
)

// channel is a conda channel of small packages that may misbehave.
type channel struct {
	t      testing.TB
	server *httptest.Server
	mu     sync.Mutex
	files  map[string][]byte // by path below the channel
	hits   map[string]int
	// made are further files of this channel (fill).
	made map[string][]byte
	// open lets the packages called slow-* through.
	open     chan struct{}
	openOnce sync.Once
}

// packages are what the channel of every story holds.
func packages() []condatest.Package {
	script := func(name, subdir string) condatest.Package {
		return condatest.Package{Name: name, Version: "1.0", Build: "0", Subdir: subdir, Files: []condatest.File{
			{Path: "bin/" + name, Content: "#!/opt/placeholder_placeholder_placeholder/bin/sh\necho " + name + " " + subdir + "\n", Exec: true,
				Placeholder: "/opt/placeholder_placeholder_placeholder"},
			{Path: "share/" + name + "/data", Content: strings.Repeat(name+subdir, 500)},
			{Path: "share/" + name + "/same", Content: "the same in all packages\n"},
			{Path: "etc/conda/activate.d/" + name + ".sh", Content: "export STORY_" + strings.ToUpper(name) + "=" + subdir + "\n"},
		}}
	}
	var out []condatest.Package
	for _, subdir := range []string{"linux-64", "linux-aarch64"} {
		for _, name := range []string{"tool", "slow", "wrong", "gone", "cut", "closed", "gpu"} {
			out = append(out, script(name, subdir))
		}
	}
	out = append(out, native()...)
	out = append(out, condatest.Package{Name: "python", Version: "3.11.2", Build: "0", Subdir: "linux-64", Files: []condatest.File{
		{Path: "bin/python", Content: pythonProgram, Exec: true, Placeholder: "/opt/placeholder_placeholder_placeholder"},
		{Path: "lib/python3.11/site-packages/README.txt", Content: "packages go here\n"},
	}})
	out = append(out, modulePackages()...)
	out = append(out, condatest.Package{Name: "scripted", Version: "1.0", Build: "0", Noarch: "generic", Files: []condatest.File{
		{Path: "bin/.scripted-post-link.sh", Content: "echo made > $PREFIX/share/scripted/made\necho set up > $PREFIX/.messages.txt\n", Exec: true},
		{Path: "share/scripted/readme", Content: "read me\n"},
	}})
	return append(out, condatest.Package{Name: "data", Version: "2.0", Build: "0", Noarch: "generic", Files: []condatest.File{
		{Path: "share/data/readme", Content: "read me\n"}, {Path: "share/data/link", Link: "readme"},
	}})
}

// native is a package of libraries for each platform: a module of UCX that needs what no
// package has, and a library that asks for a newer glibc than the package says.
func native() (out []condatest.Package) {
	for subdir, machine := range map[string]elf.Machine{"linux-64": elf.EM_X86_64, "linux-aarch64": elf.EM_AARCH64} {
		file := func(path string, s elftest.Spec) condatest.File {
			s.Machine = machine
			return condatest.File{Path: path, Content: string(s.Make())}
		}
		needs := func(versions ...string) []elftest.Need {
			return []elftest.Need{{Library: "libc.so.6", Names: versions}}
		}
		out = append(out, condatest.Package{Name: "native", Version: "1.2", Build: "0", Subdir: subdir, Files: []condatest.File{
			file("lib/libnative.so.1.0", elftest.Spec{SOName: "libnative.so.1", Needed: []string{"libc.so.6", "libstory.so.3"}, Needs: needs("GLIBC_2.17", "GLIBC_2.34"), Align: 65536}),
			file("bin/native", elftest.Spec{Interp: "/lib/ld.so", Needed: []string{"libnative.so.1"}, RunPath: "$ORIGIN/../lib", Align: 65536}),
			{Path: "lib/libnative.so.1", Link: "libnative.so.1.0"},
			file("lib/libnarrow.so", elftest.Spec{Needed: []string{"libc.so.6"}, Needs: needs("GLIBC_2.5")}),
			file("lib/ucx/libuct_story.so.0", elftest.Spec{Needed: []string{"libnative.so.1", "libdriver.so.1"}, RunPath: "$ORIGIN/..", Align: 65536}),
		}})
	}
	return out
}

var archives = sync.OnceValue(func() func(testing.TB) map[string][]byte {
	var once sync.Once
	files := map[string][]byte{}
	return func(t testing.TB) map[string][]byte {
		once.Do(func() {
			for _, p := range packages() {
				if p.Name == "data" {
					files[p.TheSubdir()+"/"+p.Dist()+".tar.bz2"] = p.TarBz2(t)
				} else {
					files[p.TheSubdir()+"/"+p.Dist()+".conda"] = p.Conda(t)
				}
			}
		})
		return files
	}
})

func newChannel(t testing.TB) *channel {
	c := &channel{t: t, files: archives()(t), hits: map[string]int{}, made: map[string][]byte{}, open: make(chan struct{})}
	c.server = httptest.NewServer(http.HandlerFunc(c.serve))
	return c
}

func (c *channel) close() {
	c.release()
	c.server.Close()
}

func (c *channel) release() { c.openOnce.Do(func() { close(c.open) }) }

func (c *channel) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/ch/")
	c.mu.Lock()
	c.hits[path]++
	data, ok := c.made[path]
	c.mu.Unlock()
	if !ok {
		data, ok = c.files[path]
	}
	name := filepath.Base(path)
	switch {
	case !ok, strings.HasPrefix(name, "gone-"):
		http.NotFound(w, r)
		return
	case strings.HasPrefix(name, "closed-"):
		if user, password, _ := r.BasicAuth(); user != "me" || password != closedPassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="closed"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
	case strings.HasPrefix(name, "slow-"):
		select {
		case <-c.open:
		case <-r.Context().Done():
			return
		}
	case strings.HasPrefix(name, "wrong-"):
		data = append([]byte("x"), data[1:]...)
	case strings.HasPrefix(name, "cut-"):
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		data = data[:len(data)/2]
	}
	http.ServeContent(noRange{w}, r, "", time.Time{}, strings.NewReader(string(data)))
}

// pythonProgram stands for a Python in the prefix: the host's, told where it would
// be and which site-packages it would read when it starts.
const pythonProgram = `#!/bin/sh
exec /usr/bin/python3 -I -c '
import runpy, site, sys
sys.prefix = sys.base_prefix = "/opt/placeholder_placeholder_placeholder"
site.addsitedir(sys.prefix + "/lib/python3.11/site-packages")
del sys.argv[0]
if sys.argv[0] == "-c":
    code = sys.argv.pop(1)
    exec(code)
else:
    runpy.run_path(sys.argv[0], run_name="__main__")
' "$@"
`

// closedPassword opens the packages called closed-*, for the user "me".
const closedPassword = "planted-Secret+word"

type noRange struct{ http.ResponseWriter }

// fetched is how often any file of a package was asked for.
func (c *channel) fetched(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for path, hits := range c.hits {
		if strings.HasPrefix(filepath.Base(path), name+"-") {
			n += hits
		}
	}
	return n
}

// host is the channel's host:port.
func (c *channel) host() string { return strings.TrimPrefix(c.server.URL, "http://") }

// lock writes a pixi.lock; each environment is `name=package,package` or, for
// some platforms only, `name@platform+platform=package`.
func (c *channel) lock(envs []string, local string) (string, error) {
	var b, records strings.Builder
	b.WriteString("version: 6\nenvironments:\n")
	var urls []string
	for _, e := range envs {
		head, names, _ := strings.Cut(e, "=")
		name, on, some := strings.Cut(head, "@")
		platforms := []string{"linux-64", "linux-aarch64"}
		if some {
			platforms = strings.Split(on, "+")
		}
		fmt.Fprintf(&b, "  %s:\n    channels:\n    - url: %s/ch/\n    packages:\n", name, c.server.URL)
		for _, platform := range platforms {
			fmt.Fprintf(&b, "      %s:\n", platform)
			for _, pkg := range strings.Split(names, ",") {
				kind, location := "conda", ""
				if location, kind = c.locate(pkg, platform, local); location == "" {
					return "", fmt.Errorf("no package %s for %s", pkg, platform)
				}
				shown := kind
				if strings.Contains(kind, ":") {
					shown = "pypi"
				}
				fmt.Fprintf(&b, "      - %s: %s\n", shown, location)
				if !slices.Contains(urls, kind+" "+location) {
					urls = append(urls, kind+" "+location)
				}
			}
		}
	}
	for _, u := range urls {
		kind, location, _ := strings.Cut(u, " ")
		if how, rest, ok := strings.Cut(kind, ":"); ok {
			fmt.Fprintf(&records, "- pypi: %s\n  name: %s\n  version: '0.1'\n", location, rest)
			if how == "tree" {
				records.WriteString("  editable: true\n")
			}
			continue
		}
		if kind == "pypi" {
			fmt.Fprintf(&records, "- pypi: %s\n  name: sdist\n  version: '1.0'\n  sha256: %064d\n", location, 1)
			continue
		}
		data := c.files[filepath.Base(filepath.Dir(location))+"/"+filepath.Base(location)]
		sum := sha256.Sum256(data)
		fmt.Fprintf(&records, "- conda: %s\n  sha256: %s\n  size: %d\n", location, hex.EncodeToString(sum[:]), len(data))
		if strings.HasPrefix(filepath.Base(location), "gpu-") {
			records.WriteString("  depends:\n  - __cuda >=12\n")
		}
		if local != "" { // nothing follows from a path
			name, rest, _ := strings.Cut(filepath.Base(location), "-")
			version, _, _ := strings.Cut(rest, "-")
			fmt.Fprintf(&records, "  name: %s\n  version: '%s'\n  build: '0'\n  build_number: 0\n  subdir: %s\n", name, version, filepath.Base(filepath.Dir(location)))
			if name == "data" {
				records.WriteString("  noarch: generic\n")
			}
		}
	}
	return b.String() + "packages:\n" + records.String(), nil
}

// locate is where a package lies; with local, in files below that directory.
func (c *channel) locate(pkg, platform, local string) (location, kind string) {
	// tree:NAME:PATH is a source tree to be used as it is, copy:NAME:PATH one to be
	// built.
	if how, rest, ok := strings.Cut(pkg, ":"); ok {
		name, path, _ := strings.Cut(rest, ":")
		return path, how + ":" + name
	}
	if pkg == "sdist" {
		return "https://pypi.example/sdist-1.0.tar.gz", "pypi"
	}
	for path := range c.files {
		if dir := filepath.Dir(path); strings.HasPrefix(filepath.Base(path), pkg+"-") && (dir == platform || dir == "noarch") {
			if local != "" {
				return local + "/" + path, "conda"
			}
			return c.server.URL + "/ch/" + path, "conda"
		}
	}
	return "", ""
}

// save writes the channel's files below dir.
func (c *channel) save(dir string) error {
	all := maps.Clone(c.files)
	c.mu.Lock()
	maps.Copy(all, c.made)
	c.mu.Unlock()
	for path, data := range all {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

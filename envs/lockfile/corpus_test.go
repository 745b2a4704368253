package lockfile_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

// lockFile is a file of the corpus.
type lockFile struct {
	name    string // slash-separated, below locks/
	data    []byte
	version int
}

var versionLine = regexp.MustCompile(`(?m)^version: *([0-9]+) *$`)

// corpus reads every pixi.lock-like file, with the version that its own line
// tells.
func corpus(t testing.TB) []lockFile {
	root := filepath.Join(testdata.Shared(t), "data", "locks")
	var files []lockFile
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() || name == "uv.lock" || !strings.HasSuffix(name, ".lock") && !strings.HasSuffix(name, ".yml") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		match := versionLine.FindSubmatch(data)
		if match == nil {
			return fmt.Errorf("%s has no version line", path)
		}
		version, err := strconv.Atoi(string(match[1]))
		rel, _ := filepath.Rel(root, path)
		files = append(files, lockFile{filepath.ToSlash(rel), data, version})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no lock below %s", root)
	}
	return files
}

// parsed holds what parse made, by name.
var parsed sync.Map

type parseResult struct {
	lock *lockfile.Lock
	err  error
}

// parse reads a lock once for all tests: under the race detector that is most
// of their time.
func (f lockFile) parse() (*lockfile.Lock, error) {
	if done, ok := parsed.Load(f.name); ok {
		return done.(parseResult).lock, done.(parseResult).err
	}
	lock, err := lockfile.Parse(f.data)
	parsed.Store(f.name, parseResult{lock, err})
	return lock, err
}

func (f lockFile) mustFail() bool { return strings.Contains(f.name, "lock_parse_fails/") }

func readable(version int) bool {
	return version >= lockfile.MinVersion && version <= lockfile.MaxVersion
}

// TestCorpusGolden: the packages of every environment and Linux platform of
// every lock are the ones that were once looked at.
func TestCorpusGolden(t *testing.T) {
	var got bytes.Buffer
	for _, file := range corpus(t) {
		if !readable(file.version) || file.mustFail() {
			continue
		}
		lock, err := file.parse()
		if err != nil {
			t.Errorf("%s: %v", file.name, err)
			continue
		}
		for _, env := range lock.Environments {
			for _, platform := range env.Platforms {
				var lines []string
				records := sha256.New()
				for _, pkg := range platform.Conda {
					lines = append(lines, strings.Join([]string{pkg.Name, pkg.Version, pkg.Build, pkg.Subdir, pkg.SHA256}, " "))
					records.Write(pkg.Record())
				}
				slices.Sort(lines)
				python := sha256.New()
				for _, pkg := range platform.PyPI {
					fmt.Fprintf(python, "%s %s %s %s %s %s\n", pkg.Kind, pkg.Name, pkg.Version, pkg.SHA256, pkg.URL, strings.Join(pkg.RequiresDist, ","))
				}
				fmt.Fprintf(&got, "%s %s %s conda=%d pypi=%d unsupported=%d %x %x %.8x\n", file.name, env.Name, platform.Name,
					len(platform.Conda), len(platform.PyPI), len(platform.Unsupported), sha256.Sum256([]byte(strings.Join(lines, "\n"))), records.Sum(nil), python.Sum(nil))
			}
		}
	}
	golden := filepath.Join("testdata", "golden.txt")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for _, line := range gotLines {
		if !slices.Contains(wantLines, line) {
			t.Errorf("not in %s: %s", golden, line)
		}
	}
	for _, line := range wantLines {
		if !slices.Contains(gotLines, line) {
			t.Errorf("no longer so: %s", line)
		}
	}
}

// scanned is what a reader that knows nothing of YAML sees in a lock: lines.
type scanned struct {
	refs map[string][]string // environment/platform → locations in order
	hash map[string]string   // location → sha256 in `packages`
}

// scan goes by indentation and by the beginnings of lines alone, the way pixi
// writes them.
func scan(data []byte) scanned {
	s := scanned{refs: map[string][]string{}, hash: map[string]string{}}
	section, env, platform, current, sha := "", "", "", "", ""
	flush := func() {
		if current != "" && sha != "" {
			s.hash[current] = sha
		}
		current, sha = "", ""
	}
	inPackages := false
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), " ")
		trimmed := strings.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if indent == 0 && !strings.HasPrefix(trimmed, "- ") {
			section, _, _ = strings.Cut(trimmed, ":")
			continue
		}
		switch section {
		case "environments":
			switch {
			case indent == 2:
				env, inPackages = unquote(strings.TrimSuffix(trimmed, ":")), false
			case indent == 4 && !strings.HasPrefix(trimmed, "- "):
				inPackages = trimmed == "packages:"
			case indent == 6 && inPackages && !strings.HasPrefix(trimmed, "- "):
				platform = unquote(strings.TrimSuffix(trimmed, ":"))
				s.refs[env+"/"+platform] = nil
			case inPackages:
				if key, location, ok := strings.Cut(strings.TrimPrefix(trimmed, "- "), ": "); ok && trimmed[0] == '-' && (key == "conda" || key == "pypi" || key == "conda_source") {
					s.refs[env+"/"+platform] = append(s.refs[env+"/"+platform], unquote(location))
				}
			}
		case "packages":
			rest, first := strings.CutPrefix(trimmed, "- ")
			if first && indent <= 2 {
				flush()
			}
			key, text, ok := strings.Cut(rest, ": ")
			switch {
			case !ok || indent > 4:
			case first && indent <= 2 && (key == "conda" || key == "pypi" || key == "conda_source"), key == "url", key == "path":
				current = unquote(text) // url and path: versions 4 and 5
			case key == "sha256":
				sha = text
			}
		}
	}
	flush()
	return s
}

func unquote(text string) string { return strings.Trim(text, `"'`) }

// TestCorpusAgainstLines compares every lock with what a reader of plain lines
// sees: the same references in the same order, the same hashes, the names.
func TestCorpusAgainstLines(t *testing.T) {
	packages := 0
	for _, file := range corpus(t) {
		if !readable(file.version) || file.mustFail() {
			continue
		}
		lock, err := file.parse()
		if err != nil {
			t.Errorf("%s: %v", file.name, err)
			continue
		}
		s := scan(file.data)
		seen := 0
		for _, env := range lock.Environments {
			seen += len(env.Skipped)
			for _, platform := range env.Platforms {
				seen++
				refs, ok := s.refs[env.Name+"/"+platform.Name]
				if !ok {
					t.Errorf("%s: lines do not show %s/%s", file.name, env.Name, platform.Name)
					continue
				}
				if len(refs) != len(platform.Conda)+len(platform.PyPI)+len(platform.Unsupported) {
					t.Errorf("%s: %s/%s: %d references, %d conda and %d Python packages, %d unsupported", file.name, env.Name, platform.Name, len(refs), len(platform.Conda), len(platform.PyPI), len(platform.Unsupported))
				}
				for _, pkg := range platform.PyPI {
					if !slices.Contains(refs, pkg.Location) {
						t.Errorf("%s: %s/%s: %s is not in the lines", file.name, env.Name, platform.Name, pkg.Location)
					}
					if pkg.SHA256 != s.hash[pkg.Location] {
						t.Errorf("%s: %s: sha256 %s, lines say %s", file.name, pkg.Location, pkg.SHA256, s.hash[pkg.Location])
					}
				}
				next := 0
				for _, pkg := range platform.Conda {
					packages++
					i := slices.Index(refs[next:], pkg.Location)
					if i < 0 {
						t.Errorf("%s: %s/%s: %s is not in the lines, or not in this order", file.name, env.Name, platform.Name, pkg.Location)
						continue
					}
					next += i + 1
					if pkg.SHA256 != s.hash[pkg.Location] {
						t.Errorf("%s: %s: sha256 %s, lines say %s", file.name, pkg.Location, pkg.SHA256, s.hash[pkg.Location])
					}
					if !strings.HasPrefix(pkg.FileName, pkg.Name+"-"+pkg.Version+"-"+pkg.Build+".") || !strings.HasSuffix(pkg.Location, "/"+pkg.FileName) {
						t.Errorf("%s: %s is read as %s", file.name, pkg.Location, pkg.Dist())
					}
				}
			}
		}
		if seen != len(s.refs) {
			t.Errorf("%s: %d environments × platforms, lines show %d", file.name, seen, len(s.refs))
		}
	}
	t.Logf("%d packages compared", packages)
	if packages < 1000 {
		t.Errorf("only %d packages compared", packages)
	}
}

// withoutPython are excerpts that were made to test readers: Python packages
// without a python.
var withoutPython = regexp.MustCompile(`/v4/absolute-path-lock\.yml$|/v7/pypi_[a-z_]+\.yml$`)

// TestCorpusConsistent: what pixi solved is consistent, so Check must not
// object to any of it.
func TestCorpusConsistent(t *testing.T) {
	for _, file := range corpus(t) {
		if !readable(file.version) || file.mustFail() || strings.Contains(file.name, "non-satisfiability/") {
			continue
		}
		lock, err := file.parse()
		if err != nil {
			t.Errorf("%s: %v", file.name, err)
			continue
		}
		for _, env := range lock.Environments {
			for _, platform := range env.Platforms {
				err := platform.Check()
				if withoutPython.MatchString(file.name) {
					if err == nil {
						t.Errorf("%s: it has no python, and that is not seen", file.name)
					}
				} else if err != nil {
					t.Errorf("%s: %s: %v", file.name, env.Name, err)
				}
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	files := corpus(b)
	largest := slices.MaxFunc(files, func(x, y lockFile) int {
		size := func(f lockFile) int {
			if readable(f.version) {
				return len(f.data)
			}
			return 0
		}
		return size(x) - size(y)
	})
	b.SetBytes(int64(len(largest.data)))
	for b.Loop() {
		if _, err := lockfile.Parse(largest.data); err != nil {
			b.Fatal(err)
		}
	}
}

package lockfile_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// dump is all that a lock says, without the digest of its bytes and without line
// numbers.
func dump(t *testing.T, lock *lockfile.Lock) string {
	t.Helper()
	lock.Digest = ""
	for _, env := range lock.Environments {
		for _, p := range append(append([]*lockfile.Platform(nil), env.Platforms...), env.Others...) {
			for _, pkg := range p.Conda {
				pkg.Line = 0
			}
			for _, pkg := range p.PyPI {
				pkg.Line = 0
			}
			for i := range p.Unsupported {
				p.Unsupported[i].Line = 0
			}
		}
	}
	for _, pkg := range lock.Building.Conda {
		pkg.Line = 0
	}
	data, err := json.Marshal(lock)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// telling matches a line whose change must not go unnoticed, and in it a
// character that can be changed: of a hash, of a URL or path, of a marker or
// other dependency.
var telling = []*regexp.Regexp{
	regexp.MustCompile(`(?:sha256|md5|hash): ["']?([0-9a-f]{32,64})`),
	regexp.MustCompile(`(?:url|conda|pypi|path|index|conda_source): ["']?([^"'\n]*[A-Za-z0-9][^"'\n]*)`),
	regexp.MustCompile(`^ *- (https?:[^ ]+)`),
	regexp.MustCompile(`^https?:[^\n]*#([0-9a-f]+)`),
	regexp.MustCompile(`^ *- ["']?([A-Za-z_][^:\n]*;[^:\n]*[A-Za-z0-9][^:\n]*)`), // a marker
	regexp.MustCompile(`^ *- ["']?([A-Za-z_][A-Za-z0-9._-]* [<>=!~*0-9][^:;\n]*)`),
	regexp.MustCompile(`(?:requires_python): ["']?([^"'\n]+)`),
}

// changed returns the line with one character of what tells in it changed.
func changed(random *rand.Rand, line []byte) ([]byte, bool) {
	for _, pattern := range telling {
		m := pattern.FindSubmatchIndex(line)
		if m == nil {
			continue
		}
		for range 50 {
			i := m[2] + random.IntN(m[3]-m[2])
			c := line[i]
			var to byte
			switch {
			case c >= '0' && c <= '8':
				to = c + 1
			case c >= 'a' && c <= 'e', c >= 'A' && c <= 'E', c >= 'g' && c <= 'y', c >= 'G' && c <= 'Y':
				to = c + 1
			case c == '9':
				to = '8'
			default:
				continue
			}
			out := bytes.Clone(line)
			out[i] = to
			return out, true
		}
	}
	return nil, false
}

// unread are keys whose values are not kept: they describe how a lock was made
// or a package that no environment has.
var unread = regexp.MustCompile(`^ *(?:used_env_vars|glob|input|content_hash|sources)\b`)

// TestEveryChangeShows: a lock with one character of a hash, a URL or a marker
// changed says something else, or is refused.
func TestEveryChangeShows(t *testing.T) {
	root := filepath.Join(testdata.Shared(t), "data", "locks")
	samples := 20
	if testing.Short() {
		samples = 8
	}
	tried, refused := 0, 0
	for _, name := range []string{
		"NVIDIA__numba-cuda/pixi.lock", "ESMValGroup__ESMValCore/pixi.lock", "prefix-dev__pixi/pixi.lock",
		"prefix-dev__pixi/examples/pypi/pixi.lock", "prefix-dev__pixi/examples/pypi-custom-registry/pixi.lock",
		"prefix-dev__pixi/examples/pypi-find-links/pixi.lock", "prefix-dev__pixi/examples/pypi-source-deps/pixi.lock",
		"prefix-dev__pixi/examples/pixi-build/polyglot-particles/pixi.lock", "prefix-dev__pixi/examples/solve-groups/pixi.lock",
		"prefix-dev__pixi/tests/data/satisfiability/solve-groups-pypi/pixi.lock", "prefix-dev__pixi/examples/editable-with-extras/pixi.lock",
		"conda__rattler/test-data/conda-lock/v4/path-based-lock.yml", "conda__rattler/test-data/conda-lock/v5/flat-index-lock.yml",
		"conda__conda-lock/tests/test-v2-to-v3-upgrade/conda-lock-v3.0.3.yml", "Quantco__pixi-pack/examples/auth/pixi.lock",
		"conda__rattler/test-data/python/explicit-env-linux-64.txt",
	} {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		lock, err := lockfile.Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := dump(t, lock)
		lines := bytes.SplitAfter(data, []byte("\n"))
		random := rand.New(rand.NewPCG(4, uint64(len(data))))
		done := 0
		for _, i := range random.Perm(len(lines)) {
			if done == samples {
				break
			}
			if unread.Match(lines[i]) || bytes.HasPrefix(lines[i], []byte("#")) || i > 1 && bytes.Contains(lines[i-2], []byte(" source:")) {
				continue // the last: where conda-lock was told to look, beside what it found there
			}
			line, ok := changed(random, lines[i])
			if !ok {
				continue
			}
			done++
			tried++
			text := bytes.Join(append(append(append([][]byte(nil), lines[:i]...), line), lines[i+1:]...), nil)
			lock, err := lockfile.Parse(text)
			if err != nil {
				refused++
				continue
			}
			if dump(t, lock) == before {
				t.Errorf("%s: line %d is now\n%sbut the lock says what it said with\n%s", name, i+1, line, lines[i])
			}
		}
		if done == 0 {
			t.Errorf("%s: no line to change", name)
		}
	}
	t.Logf("%d lines changed: %d locks refused, %d say something else", tried, refused, tried-refused)
}

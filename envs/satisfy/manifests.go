package satisfy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/pyproject"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// manifests are the pyproject.toml files of a workspace, as far as they were read.
type manifests struct {
	dir  string
	read map[string]*manifestFile // by directory, relative to dir
}

func newManifests(dir string) *manifests {
	return &manifests{dir: dir, read: map[string]*manifestFile{}}
}

// manifestFile is one; nil project: there is none.
type manifestFile struct {
	project *pyproject.Project
	// digest of the bytes; absent where there are none.
	digest string
}

// absent stands for the digest of a file that is not there.
const absent = "-"

// load reads the manifest of a directory; nil if it has none.
func (m *manifests) load(dir string) (*pyproject.Project, error) {
	key := filepath.Clean(dir)
	if f := m.read[key]; f != nil {
		return f.project, nil
	}
	file := filepath.Join(m.dir, key, manifestName)
	if filepath.IsAbs(key) {
		file = filepath.Join(key, manifestName)
	}
	data, err := project.ReadManifest(file)
	if errors.Is(err, fs.ErrNotExist) {
		m.read[key] = &manifestFile{digest: absent}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := pyproject.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", project.ErrManifest, file, err)
	}
	sum := sha256.Sum256(data)
	m.read[key] = &manifestFile{p, hex.EncodeToString(sum[:])}
	return p, nil
}

// record is the text of what was read: a line for each manifest.
func (m *manifests) record() string {
	var b strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(m.read)) {
		fmt.Fprintf(&b, "%s %q\n", m.read[dir].digest, dir)
	}
	return b.String()
}

// same tells whether the manifests that a record is of are as they were.
func (m *manifests) same(record string) bool {
	for line := range strings.Lines(record) {
		var digest, dir string
		if n, err := fmt.Sscanf(line, "%s %q\n", &digest, &dir); n != 2 || err != nil {
			return false
		}
		if _, err := m.load(dir); err != nil {
			return false
		}
	}
	return m.record() == record
}

// sameWorkspace is same where no member has come, either.
func (m *manifests) sameWorkspace(record string) bool {
	root, err := m.load(".")
	if root == nil || err != nil {
		return false
	}
	dirs, _ := m.memberDirs(root.UV.Get("workspace"))
	for _, dir := range dirs {
		if _, err := m.load(dir); err != nil {
			return false
		}
	}
	return m.same(record)
}

// memberDirs are the directories of a workspace's members but the root; not ok where
// patterns are of a form that is not known here.
func (m *manifests) memberDirs(workspace *tomltree.Value) (dirs []string, ok bool) {
	match := func(key string) ([]string, bool) {
		var found []string
		list := workspace.Get(key)
		if list == nil {
			return nil, true
		}
		for _, item := range list.Items {
			if item.Kind != tomltree.String || strings.Contains(item.Text, "**") || strings.ContainsAny(item.Text, `{}\!`) {
				return nil, false
			}
			paths, err := filepath.Glob(filepath.Join(m.dir, filepath.FromSlash(item.Text)))
			if err != nil {
				return nil, false
			}
			for _, p := range paths {
				rel, err := filepath.Rel(m.dir, p)
				if err != nil {
					return nil, false
				}
				if info, err := os.Stat(p); err == nil && info.IsDir() && rel != "." && !slices.Contains(found, rel) {
					found = append(found, rel)
				}
			}
		}
		return found, true
	}
	dirs, ok = match("members")
	if !ok {
		return nil, false
	}
	excluded, ok := match("exclude")
	return slices.DeleteFunc(dirs, func(d string) bool { return slices.Contains(excluded, d) }), ok
}

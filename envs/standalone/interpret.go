package standalone

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/cache"
)

// top is the folder that everything lies in.
const top = "python/"

// The largest files that are read, in bytes.
const (
	maxText = 8 << 20
	maxHead = 64 << 10
)

// maxListed bounds how many paths one note names.
const maxListed = 5

// Interpret is the cache.Interpreter of these archives; its metadata is a Meta.
// Errors are of class cache.ErrIntegrity or cache.ErrUnsafe.
func Interpret(raw *cache.Raw) ([]cache.Entry, json.RawMessage, []string, error) {
	entries, meta, notes, err := interpret(raw)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("interpreter %s: %w", raw.Source.Name, err)
	}
	data, err := json.Marshal(meta)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("interpreter %s: metadata: %w", raw.Source.Name, err)
	}
	return entries, data, notes, nil
}

// tree is an archive that is looked at.
type tree struct {
	raw     *cache.Raw
	entries []cache.Entry
	by      map[string]*cache.Entry
	meta    *Meta
	notes   []string
}

func interpret(raw *cache.Raw) ([]cache.Entry, *Meta, []string, error) {
	t := &tree{raw: raw, meta: &Meta{MetaVersion: MetaVersion}}
	if err := t.strip(); err != nil {
		return nil, nil, nil, err
	}
	if err := t.layout(); err != nil {
		return nil, nil, nil, err
	}
	if err := t.program(); err != nil {
		return nil, nil, nil, err
	}
	if err := t.version(); err != nil {
		return nil, nil, nil, err
	}
	if err := t.bundled(); err != nil {
		return nil, nil, nil, err
	}
	if err := t.edits(); err != nil {
		return nil, nil, nil, err
	}
	t.escaping()
	return t.entries, t.meta, t.notes, nil
}

// strip takes the folder off that all entries lie in.
func (t *tree) strip() error {
	for _, e := range t.raw.Entries {
		if e.Path == strings.TrimSuffix(top, "/") && e.Type == cache.EntryDir {
			continue
		}
		p, ok := strings.CutPrefix(e.Path, top)
		if !ok {
			return fmt.Errorf("%s lies outside of the folder %s that such an archive has: %w", e.Path, top, cache.ErrIntegrity)
		}
		if p == "PYTHON.json" || strings.HasPrefix(p, "install/") {
			return fmt.Errorf("it is a full archive of python-build-standalone; the one called install_only (or install_only_stripped) of the same build is meant: %w", cache.ErrIntegrity)
		}
		e.Path = p
		if !strings.HasSuffix(p, ".py") {
			e.Time = 0 // only byte-code names the time of another file: its source's
		}
		t.entries = append(t.entries, e)
	}
	t.by = make(map[string]*cache.Entry, len(t.entries))
	for i := range t.entries {
		t.by[t.entries[i].Path] = &t.entries[i]
	}
	return nil
}

// stdlib is the folder of the standard library.
var stdlib = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^lib/python(3\.[0-9]+)(t?)/os\.py$`) })

// layout finds out where the library is, and so which Python it is.
func (t *tree) layout() error {
	for _, e := range t.entries {
		m := stdlib().FindStringSubmatch(e.Path)
		if m == nil || e.Type != cache.EntryFile {
			continue
		}
		if t.meta.Short != "" {
			return fmt.Errorf("it holds two Pythons, %s and %s: %w", path.Dir(t.meta.Site), path.Dir(e.Path), cache.ErrIntegrity)
		}
		t.meta.Short, t.meta.FreeThreaded = m[1], m[2] != ""
		t.meta.Site = path.Dir(e.Path) + "/site-packages"
	}
	if t.meta.Short == "" {
		return fmt.Errorf("it has no %slib/python3.N/os.py, so it is no Python of python-build-standalone: %w", top, cache.ErrIntegrity)
	}
	return nil
}

// read returns a file of the tree.
func (t *tree) read(p string) ([]byte, error) {
	data, err := t.raw.Read(top+p, maxText)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return data, nil
}

func (t *tree) isFile(p string) bool {
	e := t.by[p]
	return e != nil && e.Type == cache.EntryFile
}

// program looks at bin/python3.N, which scripts of wheels run.
func (t *tree) program() error {
	p := "bin/python" + t.meta.Short
	for range 4 { // a link in bin/ to the program
		e := t.by[p]
		if e == nil || e.Type == cache.EntryDir {
			return fmt.Errorf("it has no program %sbin/python%s: %w", top, t.meta.Short, cache.ErrIntegrity)
		}
		if e.Type == cache.EntryFile {
			break
		}
		p = path.Join(path.Dir(p), e.Target)
	}
	if !t.isFile(p) {
		return fmt.Errorf("%sbin/python%s is a link that leads to no file of it: %w", top, t.meta.Short, cache.ErrIntegrity)
	}
	head, err := t.raw.Head(top+p, maxHead)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	t.meta.Subdir, t.meta.Libc = fromELF(head)
	return nil
}

// fullVersion is how the headers tell the version.
var fullVersion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^#define\s+PY_VERSION\s+"([^"+]+)\+?"`)
})

func (t *tree) version() error {
	p := "include/" + path.Base(path.Dir(t.meta.Site)) + "/patchlevel.h"
	if !t.isFile(p) {
		return nil
	}
	data, err := t.read(p)
	if err != nil {
		return err
	}
	if m := fullVersion().FindSubmatch(data); m != nil {
		t.meta.Version = string(m[1])
	}
	return nil
}

// escaping notes the links that lead out of the prefix. They are made as they are.
func (t *tree) escaping() {
	var links []string
	for _, e := range t.entries {
		to := path.Join(path.Dir(e.Path), e.Target)
		if e.Type == cache.EntryLink && (path.IsAbs(e.Target) || to == ".." || strings.HasPrefix(to, "../")) {
			links = append(links, e.Path+" → "+e.Target)
		}
	}
	if len(links) > 0 {
		more := ""
		if len(links) > maxListed {
			links, more = links[:maxListed], " …"
		}
		t.notes = append(t.notes, "links lead out of the prefix; they are made as the archive has them: "+strings.Join(links, ", ")+more)
	}
}

// edits finds what is changed in a prefix. A text that is not of the form that is
// known stays as it is, with a note.
func (t *tree) edits() error {
	t.meta.Edits = map[string][]Edit{}
	sysconfigdata := path.Dir(t.meta.Site) + "/_sysconfigdata_"
	for _, p := range slices.Sorted(maps.Keys(t.by)) {
		if !t.isFile(p) {
			continue
		}
		var of func([]byte) ([]Edit, error)
		switch dir := path.Dir(p); {
		case strings.HasPrefix(p, sysconfigdata) && strings.HasSuffix(p, ".py"):
			of = sysconfigEdits
		case dir == "lib/pkgconfig" && strings.HasSuffix(p, ".pc"):
			of = pkgconfigEdits
		case dir == "bin":
			head, err := t.raw.Head(top+p, int64(len(builtShebang)))
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			if string(head) != builtShebang {
				continue
			}
			of = shebangEdits
		default:
			continue
		}
		data, err := t.read(p)
		if err != nil {
			return err
		}
		edits, err := of(data)
		if errors.Is(err, errForm) {
			t.notes = append(t.notes, fmt.Sprintf("%s stays as it is: %v", p, err))
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if len(edits) > 0 {
			t.meta.Edits[p] = sortEdits(edits)
		}
	}
	return nil
}

package conda

import (
	"encoding/json"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
)

// Largest metadata files that are read, in bytes. The greatest paths.json seen
// in real channels is about 20 MB.
const (
	maxIndex = 4 << 20
	maxLink  = 4 << 20
	maxPaths = 128 << 20
)

// maxListed bounds how many paths one note names.
const maxListed = 5

// Interpret is the cache.Interpreter of conda packages. Its entries are those
// that the package's metadata lists, as the archive has them; its metadata is a
// PackageMeta.
func Interpret(raw *cache.Raw) ([]cache.Entry, json.RawMessage, []string, error) {
	entries, meta, notes, err := interpret(raw)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("package %s: %w", raw.Source.Name, err)
	}
	data, err := json.Marshal(meta)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("package %s: metadata: %w", raw.Source.Name, err)
	}
	return entries, data, notes, nil
}

func interpret(raw *cache.Raw) ([]cache.Entry, *PackageMeta, []string, error) {
	archive := make(map[string]*cache.Entry, len(raw.Entries))
	for i := range raw.Entries {
		archive[raw.Entries[i].Path] = &raw.Entries[i]
	}
	if archive["info/index.json"] == nil {
		return nil, nil, nil, fmt.Errorf("the archive has no info/index.json, so it is no conda package: %w", cache.ErrIntegrity)
	}
	data, err := raw.Read("info/index.json", maxIndex)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("info/index.json: %w", err)
	}
	ix, noarch, err := parseIndex(data)
	if err != nil {
		return nil, nil, nil, err
	}
	meta := &PackageMeta{
		MetaVersion: MetaVersion, Name: ix.Name, Version: ix.Version, Build: ix.Build, Subdir: ix.Subdir, Noarch: noarch,
	}
	if n, err := ix.BuildNumber.Int64(); err == nil {
		meta.BuildNumber = n
	}
	if noarch == "python" && archive["info/link.json"] != nil {
		if data, err = raw.Read("info/link.json", maxLink); err != nil {
			return nil, nil, nil, fmt.Errorf("info/link.json: %w", err)
		}
		if meta.EntryPoints, err = parseLink(data); err != nil {
			return nil, nil, nil, err
		}
	}
	listed, notes, err := readListing(raw, archive, meta)
	if err != nil {
		return nil, nil, nil, err
	}
	entries, more, err := match(listed, archive, meta)
	if err != nil {
		return nil, nil, nil, err
	}
	meta.Scripts = linkScripts(entries, ix.Name, noarch)
	return entries, meta, append(notes, more...), nil
}

// readListing reads the package's own list of paths from the newest form that it
// has. A package with none lists what its archive holds.
func readListing(raw *cache.Raw, archive map[string]*cache.Entry, meta *PackageMeta) ([]pathEntry, []string, error) {
	if archive["info/paths.json"] != nil {
		data, err := raw.Read("info/paths.json", maxPaths)
		if err != nil {
			return nil, nil, fmt.Errorf("info/paths.json: %w", err)
		}
		meta.HasPaths = true
		listed, err := parsePaths(data)
		return listed, nil, err
	}
	var in legacyInfo
	for _, f := range []struct {
		name string
		to   *[]byte
	}{
		{"info/files", &in.files}, {"info/has_prefix", &in.hasPrefix},
		{"info/no_link", &in.noLink}, {"info/no_softlink", &in.noSoftlink},
	} {
		if archive[f.name] == nil {
			continue
		}
		data, err := raw.Read(f.name, maxPaths)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.name, err)
		}
		*f.to = data
	}
	var notes []string
	if archive["info/files"] == nil {
		var all strings.Builder
		for _, e := range raw.Entries {
			if e.Type != cache.EntryDir && !isInfo(e.Path) {
				all.WriteString(e.Path + "\n")
			}
		}
		in.files = []byte(all.String())
		notes = append(notes, "the package has neither info/paths.json nor info/files; all files of its archive are linked")
	}
	listed, more, err := parseLegacy(in)
	return listed, append(notes, more...), err
}

// match joins what the package lists with what its archive holds. The archive
// has the last word on types, contents and link texts.
func match(listed []pathEntry, archive map[string]*cache.Entry, meta *PackageMeta) ([]cache.Entry, []string, error) {
	var notes []string
	out := make(map[string]cache.Entry, len(listed))
	for _, p := range listed {
		if isInfo(p.Path) {
			notes = append(notes, fmt.Sprintf("%s is listed, but info/ is never linked", p.Path))
			continue
		}
		if _, dup := out[p.Path]; dup {
			notes = append(notes, fmt.Sprintf("%s is listed twice; the last entry counts", p.Path))
			delete(meta.Recorded, p.Path)
		}
		a := archive[p.Path]
		if a == nil {
			if p.Type != TypeDirectory {
				return nil, nil, fmt.Errorf("%s is listed in the package's metadata but is not in its archive: %w", p.Path, cache.ErrIntegrity)
			}
			out[p.Path] = cache.Entry{Path: p.Path, Type: cache.EntryDir}
			continue
		}
		e := *a
		e.NoLink = p.NoLink
		if !strings.HasSuffix(e.Path, ".py") {
			e.Time = 0 // only byte-code names the time of another file: its source's
		}
		if p.Placeholder != "" {
			if e.Type == cache.EntryFile {
				e.Placeholder, e.Binary = p.Placeholder, p.Binary
			} else {
				notes = append(notes, fmt.Sprintf("%s has a prefix placeholder but is no file in the archive; nothing is replaced", p.Path))
			}
		}
		if meta.HasPaths {
			notes = append(notes, compare(p, e, meta)...)
		}
		out[p.Path] = e
	}
	if n := escaping(out); n != "" {
		notes = append(notes, n)
	}
	if n := unlisted(archive, out); n != "" {
		notes = append(notes, n)
	}
	entries := make([]cache.Entry, 0, len(out))
	for _, e := range out {
		entries = append(entries, e)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Path < entries[j].Path })
	for i := range entries {
		for dir := path.Dir(entries[i].Path); dir != "."; dir = path.Dir(dir) {
			if parent, ok := out[dir]; ok && parent.Type != cache.EntryDir {
				return nil, nil, fmt.Errorf("%s lies below %s, which is no directory: %w", entries[i].Path, dir, cache.ErrUnsafe)
			}
		}
	}
	return entries, notes, nil
}

// compare checks an entry of the archive against paths.json and keeps in
// meta.Recorded what the entry does not say itself.
func compare(p pathEntry, e cache.Entry, meta *PackageMeta) []string {
	var notes []string
	want := map[cache.EntryType]string{
		cache.EntryFile: TypeHardlink, cache.EntryLink: TypeSoftlink, cache.EntryDir: TypeDirectory,
	}[e.Type]
	same := p.Type == want
	if !same {
		notes = append(notes, fmt.Sprintf("%s: paths.json says %s, the archive has a %s; installed as the archive has it", p.Path, p.Type, e.Type))
	}
	if e.Type == cache.EntryFile {
		if p.SHA256 != e.SHA256 {
			if same = false; p.SHA256 != "" {
				notes = append(notes, fmt.Sprintf("%s: paths.json says sha256 %s, the archive has %s; installed as the archive has it", p.Path, p.SHA256, e.SHA256))
			}
		}
		if p.Size == nil || *p.Size != e.Size {
			if same = false; p.Size != nil {
				notes = append(notes, fmt.Sprintf("%s: paths.json says %d bytes, the archive has %d; installed as the archive has it", p.Path, *p.Size, e.Size))
			}
		}
	}
	if e.Type == cache.EntryLink || !same {
		if meta.Recorded == nil {
			meta.Recorded = make(map[string]PathRecord)
		}
		meta.Recorded[p.Path] = PathRecord{Type: p.Type, SHA256: p.SHA256, Size: p.Size}
	}
	return notes
}

// escaping says which links lead out of the prefix. They are made as they are and
// never followed.
func escaping(entries map[string]cache.Entry) string {
	var links []string
	for name, e := range entries {
		if e.Type != cache.EntryLink {
			continue
		}
		to := path.Join(path.Dir(name), e.Target)
		if path.IsAbs(e.Target) || to == ".." || strings.HasPrefix(to, "../") {
			links = append(links, name+" → "+e.Target)
		}
	}
	if len(links) == 0 {
		return ""
	}
	sort.Strings(links)
	n, more := len(links), ""
	if n > maxListed {
		links, more = links[:maxListed], " …"
	}
	return fmt.Sprintf("%d links lead out of the prefix; they are made as the package has them: %s%s", n, strings.Join(links, ", "), more)
}

// unlisted says which files of the archive no metadata lists; they are not
// linked, as no installer links them.
func unlisted(archive map[string]*cache.Entry, listed map[string]cache.Entry) string {
	var names []string
	for name, e := range archive {
		if _, ok := listed[name]; !ok && e.Type != cache.EntryDir && !isInfo(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	sort.Strings(names)
	n, more := len(names), ""
	if n > maxListed {
		names, more = names[:maxListed], " …"
	}
	return fmt.Sprintf("%d files of the archive are not listed in the package's metadata and are not linked: %s%s", n, strings.Join(names, ", "), more)
}

// linkScripts finds the package's pre-link, post-link and pre-unlink scripts, as
// the paths where they will be: below bin/.
func linkScripts(entries []cache.Entry, name, noarch string) []string {
	var out []string
	for _, e := range entries {
		p := e.Path
		if rest, ok := strings.CutPrefix(p, "python-scripts/"); ok && noarch == "python" {
			p = "bin/" + rest
		}
		for _, kind := range []string{"pre-link", "post-link", "pre-unlink"} {
			if p == "bin/."+name+"-"+kind+".sh" && e.Type != cache.EntryDir {
				out = append(out, p)
			}
		}
	}
	return out
}

// isInfo tells the package's own metadata, which is never linked.
func isInfo(p string) bool { return p == "info" || strings.HasPrefix(p, "info/") }

package wheel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
)

// Largest files of dist-info that are read, in bytes. Descriptions of some hundred
// kilobytes are seen; RECORD has some 100 bytes for each file.
const (
	maxMetadata = 8 << 20
	maxWheel    = 1 << 20
	maxPoints   = 4 << 20
	maxRecord   = 256 << 20
)

// maxScripts bounds the scripts of a wheel that are written anew for each
// environment, all together, in bytes: they are kept in the manifest.
const maxScripts = 16 << 20

// Interpret is the cache.Interpreter of wheels; Source.Name is the wheel's file
// name. Its entries are all files of the archive that are placed as they are; its
// metadata is a Meta.
func Interpret(raw *cache.Raw) ([]cache.Entry, json.RawMessage, []string, error) {
	entries, meta, notes, err := interpret(raw)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("wheel %s: %w", raw.Source.Name, err)
	}
	data, err := json.Marshal(meta)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("wheel %s: metadata: %w", raw.Source.Name, err)
	}
	return entries, data, notes, nil
}

func interpret(raw *cache.Raw) ([]cache.Entry, *Meta, []string, error) {
	id, err := parseFileName(raw.Source.Name)
	if err != nil {
		return nil, nil, nil, err
	}
	files := make(map[string]*cache.Entry, len(raw.Entries))
	for i := range raw.Entries {
		e := &raw.Entries[i]
		if e.Type == cache.EntryLink {
			return nil, nil, nil, fmt.Errorf("%s is a symbolic link; wheels have none: %w", e.Path, cache.ErrUnsafe)
		}
		if e.Type == cache.EntryFile {
			files[e.Path] = e
		}
	}
	meta := &Meta{MetaVersion: MetaVersion}
	if meta.Prefix, err = findPrefix(raw.Entries, id); err != nil {
		return nil, nil, nil, err
	}
	notes, err := readDistInfo(raw, files, meta)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := id.check(meta.DistInfo()+"/METADATA", meta.Name, meta.Version); err != nil {
		return nil, nil, nil, err
	}
	more, err := checkRecord(raw, files, meta)
	if err != nil {
		return nil, nil, nil, err
	}
	notes = append(notes, more...)
	if err := checkData(raw.Entries, meta); err != nil {
		return nil, nil, nil, err
	}
	if err := readScripts(raw, files, meta); err != nil {
		return nil, nil, nil, err
	}
	var entries []cache.Entry
	for _, e := range raw.Entries {
		if _, script := meta.Scripts[e.Path]; script || e.Path == meta.DistInfo()+"/RECORD" {
			continue
		}
		e.Time = 0
		entries = append(entries, e)
	}
	return entries, meta, notes, nil
}

// findPrefix finds the one dist-info directory at the top, whose name must be the
// wheel's.
func findPrefix(entries []cache.Entry, id identity) (string, error) {
	var found []string
	for _, e := range entries {
		top, _, below := strings.Cut(e.Path, "/")
		if (below || e.Type == cache.EntryDir) && strings.HasSuffix(top, ".dist-info") && !slices.Contains(found, top) {
			found = append(found, top)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("it has no .dist-info directory, so it is no wheel: %w", cache.ErrIntegrity)
	case 1:
	default:
		return "", fmt.Errorf("it has %d .dist-info directories (%s), a wheel has one: %w",
			len(found), shorten(strings.Join(found, ", ")), cache.ErrIntegrity)
	}
	prefix := strings.TrimSuffix(found[0], ".dist-info")
	i := strings.LastIndexByte(prefix, '-')
	if i < 0 {
		return "", fmt.Errorf("%s is not name-version.dist-info: %w", found[0], cache.ErrIntegrity)
	}
	return prefix, id.check(found[0], prefix[:i], prefix[i+1:])
}

// readDistInfo reads METADATA, WHEEL and entry_points.txt into meta.
func readDistInfo(raw *cache.Raw, files map[string]*cache.Entry, meta *Meta) (notes []string, err error) {
	for _, f := range []struct {
		name     string
		limit    int64
		required bool
		parse    func(file string, data []byte) error
	}{
		{"WHEEL", maxWheel, true, func(file string, data []byte) error {
			notes, err = parseWheel(file, data, meta)
			return err
		}},
		{"METADATA", maxMetadata, true, func(file string, data []byte) error { return parseMetadata(file, data, meta) }},
		{"RECORD", maxRecord, true, func(string, []byte) error { return nil }}, // read last, see checkRecord
		{"entry_points.txt", maxPoints, false, func(_ string, data []byte) error {
			meta.Console, meta.GUI, err = ParseEntryPoints(data)
			return err
		}},
	} {
		file := meta.DistInfo() + "/" + f.name
		if files[file] == nil {
			if f.required {
				return nil, fmt.Errorf("it has no %s, so it is no wheel: %w", file, cache.ErrIntegrity)
			}
			continue
		}
		data, err := raw.Read(file, f.limit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := f.parse(file, data); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// Keys of <Prefix>.data: where what is below them goes.
const (
	keyData    = "data"
	keyHeaders = "headers"
	keyPlatlib = "platlib"
	keyPurelib = "purelib"
	keyScripts = "scripts"
)

// checkData looks at the .data directories: there may be only the wheel's own, with
// the keys that the standard knows, and scripts/ has no directories.
func checkData(entries []cache.Entry, meta *Meta) error {
	for _, e := range entries {
		top, rest, below := strings.Cut(e.Path, "/")
		if !strings.HasSuffix(top, ".data") {
			continue
		}
		key, inKey, deeper := strings.Cut(rest, "/")
		known := slices.Contains([]string{keyData, keyHeaders, keyPlatlib, keyPurelib, keyScripts}, key)
		if top != meta.data() {
			if known && below && (deeper || e.Type == cache.EntryDir) {
				return fmt.Errorf("%s looks like the data of another package than %s; installers do not agree on what to do with it: %w", e.Path, meta.Prefix, cache.ErrIntegrity)
			}
			continue // some directory that is called so
		}
		switch {
		case !below && e.Type == cache.EntryDir:
		case !below:
			return fmt.Errorf("%s is a file: %w", e.Path, cache.ErrIntegrity)
		case !known:
			return fmt.Errorf("%s: %q is no kind of data that a wheel may have (data, headers, platlib, purelib, scripts): %w", e.Path, shorten(key), cache.ErrIntegrity)
		case !deeper && e.Type != cache.EntryDir:
			return fmt.Errorf("%s is a file, a directory must be there: %w", e.Path, cache.ErrIntegrity)
		case key == keyScripts && deeper && (e.Type == cache.EntryDir || strings.Contains(inKey, "/")):
			return fmt.Errorf("%s: scripts/ of a wheel has no directories: %w", e.Path, cache.ErrIntegrity)
		}
		if e.Type != cache.EntryFile {
			continue
		}
		name := ""
		if key == keyScripts {
			name = inKey
		} else if rest, ok := strings.CutPrefix(inKey, "bin/"); key == keyData && ok && !strings.Contains(rest, "/") {
			name = rest
		}
		if name != "" {
			if err := checkReserved(strings.TrimSuffix(strings.ToLower(name), ".exe")); err != nil {
				return fmt.Errorf("%s: %w", e.Path, err)
			}
		}
	}
	return nil
}

// pythonLine begins the first line of a script that waits for its interpreter.
const pythonLine = "#!python"

// readScripts takes the scripts that wait for their interpreter into meta. What
// ends their first line is a line feed, a carriage return, or both. (One of more
// than maxScripts bytes is a program: no text of that length was ever seen.)
func readScripts(raw *cache.Raw, files map[string]*cache.Entry, meta *Meta) error {
	left := int64(maxScripts)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		e := files[file]
		if !strings.HasPrefix(file, meta.data()+"/"+keyScripts+"/") || e.Size < int64(len(pythonLine)) || e.Size > maxScripts {
			continue
		}
		data, err := raw.Read(file, maxScripts)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if !bytes.HasPrefix(data, []byte(pythonLine)) {
			continue
		}
		if left -= e.Size; left < 0 {
			return fmt.Errorf("%s: the scripts whose first line is %s have more than %d bytes together: %w", file, pythonLine, maxScripts, cache.ErrUnsafe)
		}
		rest := []byte{}
		if i := bytes.IndexAny(data, "\n\r"); i >= 0 {
			rest = data[i+1:]
			if data[i] == '\r' {
				rest = bytes.TrimPrefix(rest, []byte("\n"))
			}
		}
		if meta.Scripts == nil {
			meta.Scripts = map[string][]byte{}
		}
		meta.Scripts[file] = rest
		if _, ok := meta.Rows[file]; !ok {
			meta.setRow(file, rowOf(file, e.SHA256, e.Size))
		}
	}
	return nil
}

func (m *Meta) setRow(file string, r Row) {
	if m.Rows == nil {
		m.Rows = map[string]Row{}
	}
	m.Rows[file] = r
}

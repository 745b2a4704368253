package materialize

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda"
)

// recordPath is one of a record's paths (paths_data.paths).
type recordPath struct {
	Path           string `json:"_path"`
	Type           string `json:"path_type"`
	SHA256         string `json:"sha256,omitempty"`
	SHA256InPrefix string `json:"sha256_in_prefix,omitempty"`
	Size           *int64 `json:"size_in_bytes,omitempty"`
	Placeholder    string `json:"prefix_placeholder,omitempty"`
	Mode           string `json:"file_mode,omitempty"`
	NoLink         bool   `json:"no_link,omitempty"`
}

// recordLink says how files came to their place. The type is always 1 (hard
// link) and the source empty, whatever was done, so that a record's bytes do not
// depend on file systems or on where packages were kept.
const recordLink = `{"source":"","type":1}`

// content is the digest and size of a file.
type content struct {
	SHA256 string
	Size   int64
}

// recordJSON makes conda-meta/<name>-<version>-<build>.json of package i (CEP
// 32): the record that the lock has, and what the package put where. Keys are
// sorted. inPrefix tells, by path, the content of files that were written
// (patched and generated ones).
//
// It is written to buf, which may be nil, from its beginning.
func (p *Plan) recordJSON(i int, inPrefix map[string]content, buf []byte) ([]byte, error) {
	pkg := p.Packages[i]
	record := make(map[string]json.RawMessage)
	if err := json.Unmarshal(pkg.Lock.Record(), &record); err != nil {
		return nil, fmt.Errorf("record of %s in the lock: %w", label(pkg), err)
	}
	files, paths := make([]string, 0, len(p.placed[i])), make([]recordPath, 0, len(p.placed[i]))
	for j := range p.placed[i] {
		pl := &p.placed[i][j]
		if !pl.won {
			continue
		}
		rp, err := p.recordPath(i, pl, inPrefix)
		if err != nil {
			return nil, err
		}
		if pl.Kind != KindDir {
			files = append(files, pl.Path)
		}
		paths = append(paths, rp)
	}
	if p.pyc != nil && len(p.pyc[i]) > 0 {
		for _, f := range p.pyc[i] {
			files = append(files, f)
			paths = append(paths, recordPath{Path: f, Type: typePyc})
		}
		slices.Sort(files)
		slices.SortFunc(paths, func(a, b recordPath) int { return strings.Compare(a.Path, b.Path) })
	}
	record["link"] = json.RawMessage(recordLink)
	record["requested_specs"] = json.RawMessage("[]")
	if u, ok := locationURL(pkg.Lock.Location); ok {
		record["url"] = quoted(u)
	}
	if len(pkg.Lock.Constrains) == 0 {
		delete(record, "constrains") // as rattler has it; depends is always there
	}
	data, err := encodeRecord(buf[:0], record, files, paths)
	if err != nil {
		return nil, fmt.Errorf("record of %s: %w", label(pkg), err)
	}
	return data, nil
}

// typePyc is the path_type of a compiled file that no package brought; conda
// records its path only.
const typePyc = "pyc_file"

// locationURL writes a path of the lock as a file URL, since readers of records
// insist on a URL; a relative one stays relative (file:dir/x), so that it does
// not depend on where the lock lies. A file URL is written in the same form,
// whatever the lock escapes in it. ok is false for any other URL, which stays as
// it is.
func locationURL(location string) (string, bool) {
	if rest, ok := strings.CutPrefix(location, "file:///"); ok {
		p, err := url.PathUnescape(rest)
		return "file:///" + escapePath(p), err == nil
	}
	if i := strings.IndexByte(location, ':'); i > 1 && !strings.ContainsAny(location[:i], "/.") {
		return "", false
	}
	if strings.HasPrefix(location, "/") {
		return "file://" + escapePath(location), true
	}
	return "file:" + escapePath(location), true
}

// escapePath escapes what the URL standard asks for in a path, and the percent
// sign; no more, as rattler does it.
func escapePath(p string) string {
	var b strings.Builder
	for i := range len(p) {
		if c := p[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`#?{}%", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// recordPath describes one path that package i has in the prefix.
func (p *Plan) recordPath(i int, pl *placed, inPrefix map[string]content) (recordPath, error) {
	rp := recordPath{Path: pl.Path, NoLink: pl.noLink}
	have, changed := p.changed[pl.Path]
	if written, ok := inPrefix[pl.Path]; ok && changed {
		have = written
	}
	switch pl.Kind {
	case KindDir:
		rp.Type = conda.TypeDirectory
	case KindSymlink:
		// The digest in the prefix is of the link's text, as rattler has it.
		sum := sha256.Sum256([]byte(pl.Target))
		rp.Type, have = conda.TypeSoftlink, content{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(pl.Target))}
	case KindFile:
		rp.Type = conda.TypeHardlink
		if !changed {
			have = content{SHA256: pl.SHA256, Size: pl.Size}
		}
	case KindPatch, KindData:
		rp.Type = conda.TypeHardlink
		if pl.entryPoint {
			rp.Type = "unix_python_entry_point"
		}
		if written, ok := inPrefix[pl.Path]; ok {
			have = written
		} else if !changed {
			return rp, fmt.Errorf("record of %s: %s was not written", label(p.Packages[i]), pl.Path)
		}
	}
	if pl.Kind == KindPatch {
		rp.Placeholder, rp.Mode = pl.Placeholder, "text"
		if pl.Binary {
			rp.Mode = "binary"
		}
	}
	p.recordDigests(i, pl, have, &rp)
	return rp, nil
}

// recordDigests sets the digests and the size: sha256 is what the package says,
// sha256_in_prefix what the prefix has, left out where equal.
func (p *Plan) recordDigests(i int, pl *placed, have content, rp *recordPath) {
	switch {
	case pl.Kind == KindDir:
		return
	case pl.entryPoint:
		rp.SHA256 = have.SHA256
	case pl.recorded != nil:
		rp.SHA256 = pl.recorded.SHA256
	case p.metas[i].HasPaths && pl.Kind != KindSymlink:
		rp.SHA256 = pl.SHA256
	}
	if have.SHA256 != rp.SHA256 {
		rp.SHA256InPrefix = have.SHA256
	}
	size := have.Size
	if pl.Kind == KindSymlink && pl.recorded != nil && pl.recorded.Size != nil {
		size = *pl.recorded.Size
	}
	rp.Size = &size
}

package wheel

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
)

// maxOther bounds the files, in bytes, whose digests of another kind than sha256
// are computed.
const maxOther = 1 << 30

// checkRecord compares RECORD with the archive and keeps in meta the rows that
// do not follow from the entries. A file whose content is not what RECORD says is
// an error. Files that RECORD lacks get a row without digest, rows of files that
// the archive lacks are dropped, of two rows of one file the first counts; the
// notes say so.
func checkRecord(raw *cache.Raw, files map[string]*cache.Entry, meta *Meta) ([]string, error) {
	own := meta.DistInfo() + "/RECORD"
	data, err := raw.Read(own, maxRecord)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", own, err)
	}
	rows, err := ParseRecord(data)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(rows))
	var findings findings
	for _, r := range rows {
		p := path.Clean(r.Path)
		e := files[p]
		if e == nil || seen[p] {
			findings.add("%d rows of RECORD are of files that the archive lacks or that have a row already; they are dropped", r.Path)
			continue
		}
		seen[p] = true
		if p == own {
			if r != (Row{Path: own}) {
				meta.setRow(p, r)
			}
			continue
		}
		if err := checkHash(raw, e, r, &findings); err != nil {
			return nil, err
		}
		if r.Size != nil && *r.Size != e.Size {
			findings.add("%d sizes in RECORD are not those of the files", p)
		}
		if want := rowOf(p, e.SHA256, e.Size); compareRows(r, want) != 0 {
			meta.setRow(p, r)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		switch {
		case seen[p]:
		case p == meta.DistInfo()+"/RECORD.jws", p == meta.DistInfo()+"/RECORD.p7s":
			meta.NoRow = append(meta.NoRow, p)
		default:
			findings.add("%d files are not in RECORD; they are installed, and get rows without digests", p)
			size := files[p].Size
			meta.setRow(p, Row{Path: p, Size: &size})
		}
	}
	return findings.notes(), nil
}

// checkHash compares a file's content with its row.
func checkHash(raw *cache.Raw, e *cache.Entry, r Row, findings *findings) error {
	algorithm, digest, _ := strings.Cut(r.Hash, "=")
	var have []byte
	switch algorithm {
	case "":
		findings.add("%d rows of RECORD have no digest", e.Path)
		return nil
	case "sha256":
		sum, err := hex.DecodeString(e.SHA256)
		if err != nil {
			return fmt.Errorf("%s: digest of the archive's content: %w", e.Path, err)
		}
		have = sum
	case "sha384", "sha512":
		data, err := raw.Read(e.Path, maxOther)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
		if algorithm == "sha384" {
			sum := sha512.Sum384(data)
			have = sum[:]
		} else {
			sum := sha512.Sum512(data)
			have = sum[:]
		}
	default:
		findings.add("%d rows of RECORD have digests of a kind that proves nothing or is not known", e.Path)
		return nil
	}
	if strings.EqualFold(digest, hex.EncodeToString(have)) {
		findings.add("%d digests in RECORD are in hex, where base64 is due", e.Path)
		return nil
	}
	want, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(digest, "="))
	if err != nil {
		return fmt.Errorf("RECORD: %s: %q is no digest: %w", e.Path, shorten(r.Hash), cache.ErrIntegrity)
	}
	if string(want) != string(have) {
		return fmt.Errorf("%s is not what RECORD says: RECORD has %s, the archive's content has %s=%s: %w",
			e.Path, shorten(r.Hash), algorithm, base64.RawURLEncoding.EncodeToString(have), cache.ErrIntegrity)
	}
	return nil
}

// findings counts what is worth a note, with a few paths each.
type findings struct {
	texts []string
	paths map[string][]string
}

func (f *findings) add(text, path string) {
	if f.paths == nil {
		f.paths = map[string][]string{}
	}
	if f.paths[text] == nil {
		f.texts = append(f.texts, text)
	}
	f.paths[text] = append(f.paths[text], path)
}

func (f *findings) notes() []string {
	const named = 5
	var out []string
	for _, t := range f.texts {
		paths, more := f.paths[t], ""
		if len(paths) > named {
			more = " …"
		}
		out = append(out, fmt.Sprintf(t, len(paths))+": "+shortenAll(paths[:min(named, len(paths))])+more)
	}
	return out
}

func shortenAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = shorten(s)
	}
	return strings.Join(out, ", ")
}

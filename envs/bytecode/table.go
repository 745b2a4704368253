package bytecode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
)

// tableHead is the first line of a table, with the number of its rows.
const tableHead = "hpcenv byte-code 1 "

// table is what the sources of one package became.
type table map[rowKey]Row

// rowKey finds a row: by the source's path; those of patched sources also by the
// source's digest, since prefix roots and platforms differ.
type rowKey struct{ path, patched string }

// key is the key of a row for a source at path p.
func (r Row) key(p string) rowKey {
	if r.Kind == Template || r.Kind == Alone {
		return rowKey{p, r.Source}
	}
	return rowKey{path: p}
}

func (k rowKey) compare(other rowKey) int {
	return cmp.Or(strings.Compare(k.path, other.path), strings.Compare(k.patched, other.patched))
}

// encode: one line per source, sorted by key: kind, digest of the source, of
// what was shipped (- = nothing), of the byte-code (- = none), its size, the
// path and why there is none, both quoted.
func (t table) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\n", tableHead, len(t))
	for _, k := range slices.SortedFunc(maps.Keys(t), rowKey.compare) {
		r := t[k]
		fmt.Fprintf(&b, "%c\t%s\t%s\t%s\t%d\t%s\t%s\n", r.Kind, r.Source, dash(r.Shipped), dash(r.Code), r.Size, strconv.Quote(k.path), strconv.Quote(r.Why))
	}
	return b.Bytes()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// decodeTable reads what encode wrote; anything else is cache.ErrIntegrity.
func decodeTable(data []byte) (table, error) {
	text := string(data)
	head, text, _ := strings.Cut(text, "\n")
	number, ok := strings.CutPrefix(head, tableHead)
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n != strings.Count(text, "\n") || text != "" && !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("%w: table of byte-code: its first line is %.60q", cache.ErrIntegrity, head)
	}
	t := make(table, n)
	for i := range n {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		p, r, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("%w: table of byte-code, line %d: %w", cache.ErrIntegrity, i+2, err)
		}
		t[r.key(p)] = r
	}
	return t, nil
}

func parseRow(line string) (string, Row, error) {
	f := strings.Split(line, "\t")
	if len(f) != 7 || len(f[0]) != 1 {
		return "", Row{}, errors.New("there must be 7 fields")
	}
	r := Row{Kind: Kind(f[0][0]), Source: f[1]}
	if f[2] != "-" {
		r.Shipped = f[2]
	}
	if f[3] != "-" {
		r.Code = f[3]
	}
	var errs [3]error
	var p string
	r.Size, errs[0] = strconv.ParseInt(f[4], 10, 64)
	p, errs[1] = strconv.Unquote(f[5])
	r.Why, errs[2] = strconv.Unquote(f[6])
	if err := errors.Join(errs[:]...); err != nil {
		return "", Row{}, err
	}
	return p, r, r.check()
}

func (r Row) check() error {
	code := r.Kind == Compiled || r.Kind == Headed || r.Kind == Kept || r.Kind == Template && r.Why == ""
	switch {
	case !code && r.Kind != Failed && r.Kind != Template && r.Kind != Alone:
		return fmt.Errorf("kind %q is not known", r.Kind)
	case !isDigest(r.Source), code && !isDigest(r.Code), r.Shipped != "" && !isDigest(r.Shipped):
		return errors.New("a digest is not 64 hex digits")
	case code != (r.Size > 0):
		return fmt.Errorf("size %d is not possible", r.Size)
	}
	return nil
}

func isDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// readTable reads a package's table; nil if there is none, or none that can be
// read: then its sources are looked at again.
func readTable(store *cache.Store, compiler, pkg string) (table, error) {
	path := store.PycPath(compiler, pkg)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	t, err := decodeTable(data)
	if err != nil {
		return nil, nil // rewritten with what is found out now
	}
	return t, nil
}

// aboutName is the file beside the tables that describes their compiler. Where
// it is, the compiler is known to run.
const aboutName = "compiler.json"

// about describes a compiler.
type about struct {
	// Tag and Magic as the interpreter told them.
	Tag   string `json:"tag"`
	Magic string `json:"magic"`
	// Hash is that of a known source, in hex: it tells which function it is.
	Hash string `json:"hash"`
	// Packages by sha256, and DriverVersion: what the identity is made of.
	Packages []string `json:"packages"`
	Driver   int      `json:"driver"`
}

// readAbout returns nil where the compiler was never used.
func readAbout(store *cache.Store, compiler string) (*about, error) {
	path := store.PycPath(compiler, aboutName)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	a := new(about)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("%w: %s: %w; next: remove %s, it is made again", cache.ErrStore, path, err, filepath.Dir(path))
	}
	return a, nil
}

// made is what a compiler made of sources, by their digests; of patched ones apart:
// a general form may be another package's source as it is.
type made struct{ sources, patched map[string]Row }

// bySource gathers, from all tables of a compiler, what it made of sources, so
// that a source that several packages have is compiled once.
func bySource(store *cache.Store, compiler string) (known made, err error) {
	known = made{map[string]Row{}, map[string]Row{}}
	dir := filepath.Dir(store.PycPath(compiler, aboutName))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return known, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	for _, e := range entries {
		if !isDigest(e.Name()) {
			continue
		}
		t, err := readTable(store, compiler, e.Name())
		if err != nil {
			return known, err
		}
		for _, r := range t {
			switch r.Kind {
			case Template, Alone:
				known.patched[r.Source] = r
			case Compiled, Failed:
				r.Shipped = ""
				known.sources[r.Source] = r
			}
		}
	}
	return known, nil
}

// TableContents calls add with each content that the table of byte-code at path refers
// to. A table that cannot be read refers to nothing: it is made again when it is needed.
func TableContents(path string, add func(sha256 string)) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: read %s: %w", cache.ErrStore, path, err)
	}
	t, err := decodeTable(data)
	if errors.Is(err, cache.ErrIntegrity) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range t {
		if r.Code != "" {
			add(r.Code)
		}
	}
	return nil
}

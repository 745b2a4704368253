package wheel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/python/name"
)

// Installer is what INSTALLER says: the program that installed the wheel.
const Installer = "hpcenv"

// Placement is one path of an installed wheel.
type Placement struct {
	// Path is relative to the prefix, clean, slash-separated.
	Path string
	Dir  bool
	// Source is the path in the wheel of a file that is placed as it is, with its
	// content; "" = the file is generated, and Data is its content.
	Source string
	SHA256 string
	Size   int64
	Exec   bool
	Data   []byte
}

// Place decides what a wheel puts where. It is pure: the same manifest, layout and
// direct (the content of direct_url.json; nil = there is none) give the same
// placements, sorted by path, each path once, no file below another. Of two files
// that meet in one place the later counts, in this order: the root of the wheel,
// entry points, .data by its keys, what an installer adds to dist-info.
func Place(m *cache.Manifest, layout Layout, direct []byte) ([]Placement, error) {
	meta, err := DecodeMeta(m.Meta)
	if err != nil {
		return nil, err
	}
	p := &placer{meta: meta, layout: layout, at: make(map[string]Placement, len(m.Entries)+8)}
	data := map[string][]cache.Entry{}
	for _, e := range m.Entries {
		if key, ok := p.key(e.Path); ok {
			data[key] = append(data[key], e)
			continue
		}
		p.entry(e, layout.Site+"/"+e.Path)
		if e.Type == cache.EntryFile && !slices.Contains(meta.NoRow, e.Path) {
			p.rows = append(p.rows, meta.row(e))
		}
	}
	if r, ok := meta.Rows[meta.DistInfo()+"/RECORD"]; ok {
		p.rows = append(p.rows, r)
	} else {
		p.rows = append(p.rows, Row{Path: meta.DistInfo() + "/RECORD"})
	}
	p.commands()
	p.data(data)
	p.distInfo(direct)
	return p.finish()
}

// row is the row of RECORD of a file, as the wheel has it.
func (m *Meta) row(e cache.Entry) Row {
	if r, ok := m.Rows[e.Path]; ok {
		return r
	}
	return rowOf(e.Path, e.SHA256, e.Size)
}

// placer collects placements and rows.
type placer struct {
	meta   *Meta
	layout Layout
	at     map[string]Placement
	rows   []Row
	// names of all commands.
	names map[string]bool
}

// key tells which kind of data a path is, if it is data.
func (p *placer) key(file string) (string, bool) {
	rest, ok := strings.CutPrefix(file, p.meta.data()+"/")
	if !ok {
		return "", file == p.meta.data()
	}
	key, _, _ := strings.Cut(rest, "/")
	return key, true
}

// entry places what the wheel has as it is.
func (p *placer) entry(e cache.Entry, to string) {
	p.at[to] = Placement{Path: to, Dir: e.Type == cache.EntryDir, Source: e.Path, SHA256: e.SHA256, Size: e.Size, Exec: e.Exec}
}

// generate places a file that is made here, and records it.
func (p *placer) generate(to string, data []byte, exec bool) {
	p.at[to] = Placement{Path: to, Data: data, Size: int64(len(data)), Exec: exec}
	p.rows = append(p.rows, p.rowOf(to, data))
}

func (p *placer) rowOf(to string, data []byte) Row {
	sum := sha256.Sum256(data)
	return rowOf(p.fromSite(to), hex.EncodeToString(sum[:]), int64(len(data)))
}

// fromSite is a path of the prefix as RECORD has it: relative to site-packages.
func (p *placer) fromSite(to string) string {
	rel, err := filepath.Rel(p.layout.Site, to)
	if err != nil {
		panic("wheel: " + err.Error()) // both are relative and clean
	}
	return rel
}

// commands writes the entry points.
func (p *placer) commands() {
	p.names = map[string]bool{}
	for _, ep := range append(p.meta.console(p.layout.Python), p.meta.GUI...) {
		p.names[ep.Name] = true
		p.generate("bin/"+ep.Name, launcher(p.layout.interpreter(), ep), true)
	}
}

// data places what is below .data; by holds its entries by key. Scripts that wait
// for their interpreter are no entries; they come last.
func (p *placer) data(by map[string][]cache.Entry) {
	for _, key := range []string{keyData, keyHeaders, keyPlatlib, keyPurelib} {
		base := p.layout.Site
		switch key {
		case keyData:
			base = ""
		case keyHeaders:
			base = path.Join(p.layout.Include, name.Normalize(p.meta.Name))
		}
		root := p.meta.data() + "/" + key
		for i, e := range by[key] {
			if i == 0 && base != "" {
				p.dir(base)
			}
			to := path.Join(base, strings.TrimPrefix(strings.TrimPrefix(e.Path, root), "/"))
			if e.Type == cache.EntryDir {
				p.dir(to)
				continue
			}
			p.entry(e, to)
			p.moved(p.meta.row(e), to)
		}
	}
	for _, e := range by[keyScripts] {
		if e.Type != cache.EntryFile {
			continue
		}
		if to := p.scriptPlace(e.Path); to != "" {
			p.entry(e, to)
			p.moved(p.meta.row(e), to)
		} else {
			p.rows = append(p.rows, p.meta.row(e))
		}
	}
	for file, rest := range p.meta.Scripts {
		if to := p.scriptPlace(file); to != "" {
			p.generate(to, script(p.layout.interpreter(), rest), true)
		} else {
			p.rows = append(p.rows, p.meta.Rows[file])
		}
	}
}

// dir places a directory, unless something is there.
func (p *placer) dir(to string) {
	if _, ok := p.at[to]; !ok && to != "." && to != "" {
		p.at[to] = Placement{Path: to, Dir: true}
	}
}

// moved records a file that is not where RECORD had it.
func (p *placer) moved(r Row, to string) {
	r.Path = p.fromSite(to)
	p.rows = append(p.rows, r)
}

// scriptPlace is the place of a file of scripts/; "" = it is not installed, since an
// entry point stands for it. (Its row stays, as the reference has it.)
func (p *placer) scriptPlace(file string) string {
	base := path.Base(file)
	command := base
	for _, suffix := range []string{".exe", "-script.py", ".pya"} {
		if s, ok := strings.CutSuffix(base, suffix); ok {
			command = s
			break
		}
	}
	if p.names[command] {
		return ""
	}
	return "bin/" + base
}

// distInfo adds what an installer writes, RECORD last.
func (p *placer) distInfo(direct []byte) {
	dir := p.layout.Site + "/" + p.meta.DistInfo() + "/"
	p.generate(dir+"REQUESTED", []byte{}, false)
	if direct != nil {
		p.generate(dir+"direct_url.json", direct, false)
	}
	p.generate(dir+"INSTALLER", []byte(Installer), false)
	data := EncodeRecord(p.rows)
	p.at[dir+"RECORD"] = Placement{Path: dir + "RECORD", Data: data, Size: int64(len(data))}
}

// finish sorts the placements and refuses those that cannot be together.
func (p *placer) finish() ([]Placement, error) {
	out := make([]Placement, 0, len(p.at))
	for _, pl := range p.at {
		for dir := path.Dir(pl.Path); dir != "."; dir = path.Dir(dir) {
			if up, ok := p.at[dir]; ok && !up.Dir {
				return nil, fmt.Errorf("%s and %s cannot both be installed: one lies below the other: %w", up.Path, pl.Path, cache.ErrIntegrity)
			}
		}
		out = append(out, pl)
	}
	slices.SortFunc(out, func(a, b Placement) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

package materialize

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
)

// maxFailures bounds how many sources that do not compile are named.
const maxFailures = 20

// compile gives a plan its byte-code. Where this host cannot compile, the plan
// stays without, and the note that says so is in the plan and in what is
// returned (nil: no byte-code is wanted).
func compile(ctx context.Context, store *cache.Store, p *Plan, req *Request) (*ByteCode, error) {
	if !req.Options.ByteCode || p.python == nil {
		return nil, nil
	}
	skip := func(why string) (*ByteCode, error) {
		p.note("no byte-code: " + why + "; imports of Python modules are slower")
		return &ByteCode{Skipped: why}, nil
	}
	if req.Python == nil {
		return skip(req.NoPython)
	}
	sources, patched := p.byteCodeSources()
	res, err := bytecode.Build(ctx, store, &bytecode.Request{
		Interpreter: req.Python, Packages: sources, Patched: p.patchedSources(store, patched),
		Workers: req.Workers, Sandbox: req.Sandbox, OnWait: req.OnWait,
	})
	if errors.Is(err, bytecode.ErrNoSandbox) || errors.Is(err, bytecode.ErrInterpreter) {
		return skip(err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("byte-code: %w", err)
	}
	return p.setByteCode(res, patched), nil
}

func (p *Plan) note(text string) {
	p.Notes = append(p.Notes, text)
	sort.Strings(p.Notes)
}

// byteCodeDirs are the directories that python imports from; each ends with /.
func (p *Plan) byteCodeDirs() []string {
	return []string{p.python.stdlib() + "/", "lib/python" + p.python.Short + "/", p.python.Site + "/"}
}

// wantsByteCode: import looks for a compiled file for it.
func wantsByteCode(dirs []string, file string) bool {
	if !strings.HasSuffix(file, ".py") || strings.Contains(file, "/__pycache__/") {
		return false
	}
	for _, d := range dirs {
		if strings.HasPrefix(file, d) {
			return true
		}
	}
	return false
}

// pycPath is where import looks for the compiled file of a source.
func pycPath(source, tag string) string {
	return path.Join(path.Dir(source), "__pycache__", strings.TrimSuffix(path.Base(source), ".py")+"."+tag+".pyc")
}

// byteCodeSources lists what the packages have to compile, and the operations
// that write a source with the prefix in it. Of a package everything counts,
// also what another package's file replaces here: its table serves all
// environments. A file with a placeholder has its compiled file made anew.
func (p *Plan) byteCodeSources() (sources []bytecode.Package, patched []int) {
	dirs := p.byteCodeDirs()
	suffix := ".cpython-" + strings.ReplaceAll(p.python.Short, ".", "") + ".pyc"
	for i := range p.Packages {
		shipped := map[string]*cache.Entry{}
		for j := range p.placed[i] {
			pl := &p.placed[i][j]
			if dir, name := path.Split(pl.Path); pl.Kind == KindFile && !pl.Exec && strings.HasSuffix(dir, "/__pycache__/") && strings.HasSuffix(name, suffix) {
				e := entryOf(&pl.Op)
				shipped[strings.TrimSuffix(dir, "__pycache__/")+strings.TrimSuffix(name, suffix)+".py"] = &e
			}
		}
		pkg := bytecode.Package{SHA256: p.Packages[i].Manifest.SHA256, Label: label(p.Packages[i])}
		for j := range p.placed[i] {
			pl := &p.placed[i][j]
			if pl.Kind != KindFile || !wantsByteCode(dirs, pl.Path) {
				continue
			}
			e := entryOf(&pl.Op)
			e.Time = pl.time
			pkg.Sources = append(pkg.Sources, bytecode.Source{Entry: e, Shipped: shipped[pl.Path]})
		}
		sources = append(sources, pkg)
	}
	for i := range p.Ops {
		if p.Ops[i].Kind == KindPatch && wantsByteCode(dirs, p.Ops[i].Path) {
			patched = append(patched, i)
		}
	}
	return sources, patched
}

// patchedSources are the sources that these operations write.
func (p *Plan) patchedSources(store *cache.Store, ops []int) (out []bytecode.Patched) {
	id := path.Base(p.Prefix)
	if !idPattern().MatchString(id) {
		id = ""
	}
	for _, i := range ops {
		op := &p.Ops[i]
		owner := p.Packages[op.Owner]
		out = append(out, bytecode.Patched{
			Package: owner.Manifest.SHA256, Path: op.Source, Label: label(owner) + ": " + op.Source, ID: id,
			Content: func() ([]byte, error) {
				var data bytes.Buffer
				_, err := p.patched(store, &p.Ops[i], &data)
				return data.Bytes(), err
			},
		})
	}
	return out
}

// setByteCode puts what was compiled into the plan. It is pure.
func (p *Plan) setByteCode(res *bytecode.Result, patched []int) *ByteCode {
	s := &setter{plan: p, tag: res.Tag, at: make(map[string]int, len(p.Ops)), alone: map[string]bool{}, code: &ByteCode{Processes: res.Processes, Own: map[string]string{}}}
	p.changed, p.pyc = map[string]content{}, make([][]string, len(p.Packages))
	for i := range p.Ops {
		s.at[p.Ops[i].Path] = i
	}
	dirs := p.byteCodeDirs()
	for i, n := 0, len(p.Ops); i < n; i++ {
		op := p.Ops[i]
		if op.Kind != KindFile || op.Owner < 0 || !wantsByteCode(dirs, op.Path) {
			continue
		}
		if row, ok := res.Rows[p.Packages[op.Owner].Manifest.SHA256][op.Source]; ok {
			s.row(op, row)
		}
	}
	for j, i := range patched {
		op, got := p.Ops[i], res.Patched[j]
		switch {
		case got.Code != nil:
			s.code.Patched++
			s.alone[pycPath(op.Path, s.tag)] = got.Alone
			s.put(op, Op{Kind: KindData, Data: got.Code})
		case got.Why != "":
			s.failed(op, got.Why)
		}
	}
	s.links(dirs)
	s.code.Failed += len(res.Lost)
	for _, l := range res.Lost {
		p.Notes = append(p.Notes, "no byte-code for "+l)
	}
	for i := range p.Ops {
		if op := &p.Ops[i]; s.alone[op.Path] && op.Kind == KindData {
			sum := sha256.Sum256(op.Data)
			s.code.Own[op.Path] = hex.EncodeToString(sum[:])
		}
	}
	s.report()
	sort.Strings(p.Notes)
	sort.Slice(p.Ops, func(i, j int) bool { return p.Ops[i].Path < p.Ops[j].Path })
	return s.code
}

// setter adds compiled files to a plan.
type setter struct {
	plan  *Plan
	tag   string
	at    map[string]int  // operation by path
	alone map[string]bool // compiled files that no other prefix tells of
	code  *ByteCode
	fails []string
}

func (s *setter) row(source Op, row bytecode.Row) {
	switch row.Kind {
	case bytecode.Failed:
		s.failed(source, row.Why)
		return
	case bytecode.Kept:
		s.code.Kept++
	case bytecode.Headed:
		s.code.Headed++
	}
	s.put(source, Op{Kind: KindFile, SHA256: row.Code, Size: row.Size})
}

func (s *setter) failed(source Op, why string) {
	s.code.Failed++
	s.fails = append(s.fails, label(s.plan.Packages[source.Owner])+": "+source.Path+" does not compile: "+why)
}

// put makes op the compiled file of a source.
func (s *setter) put(source, op Op) {
	p := s.plan
	op.Path, op.Owner, op.Source = pycPath(source.Path, s.tag), source.Owner, source.Source
	dir := path.Dir(op.Path)
	if len(path.Base(op.Path)) > maxName || len(op.Path) > maxPath {
		s.fails = append(s.fails, label(p.Packages[source.Owner])+": "+source.Path+" has no byte-code: the name of its compiled file is longer than a file's may be")
		return
	}
	if i, ok := s.at[dir]; ok && p.Ops[i].Kind != KindDir {
		s.fails = append(s.fails, label(p.Packages[source.Owner])+": "+source.Path+" has no byte-code: "+dir+" is no directory")
		return
	} else if !ok {
		s.at[dir] = len(p.Ops)
		p.Ops = append(p.Ops, Op{Path: dir, Kind: KindDir, Owner: Own})
	}
	if i, ok := s.at[op.Path]; ok {
		switch p.Ops[i].Kind {
		case KindFile, KindPatch, KindData:
		default:
			s.fails = append(s.fails, label(p.Packages[source.Owner])+": "+source.Path+" has no byte-code: "+op.Path+" is no file")
			return
		}
		if p.Ops[i].SHA256 != op.SHA256 || p.Ops[i].Kind != op.Kind {
			p.changed[op.Path] = content{SHA256: op.SHA256, Size: op.Size}
			p.Ops[i] = op
		}
	} else {
		s.at[op.Path] = len(p.Ops)
		p.Ops = append(p.Ops, op)
		if p.metas[source.Owner].Noarch == "python" {
			p.pyc[source.Owner] = append(p.pyc[source.Owner], op.Path)
		}
	}
	s.code.Files++
}

// report notes the sources that have no byte-code, a bounded number by name.
func (s *setter) report() {
	sort.Strings(s.fails)
	if n := len(s.fails); n > maxFailures {
		s.fails = append(s.fails[:maxFailures], fmt.Sprintf("and %d more Python sources have no byte-code", n-maxFailures))
	}
	s.plan.Notes = append(s.plan.Notes, s.fails...)
}

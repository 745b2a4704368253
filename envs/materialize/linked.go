package materialize

import (
	"path"
	"strings"
)

// links gives compiled files to sources that are links to others: import looks
// for them under the link's own name.
func (s *setter) links(dirs []string) {
	p := s.plan
	for i, n := 0, len(p.Ops); i < n; i++ {
		op := p.Ops[i]
		if op.Kind != KindSymlink || op.Owner < 0 || !wantsByteCode(dirs, op.Path) {
			continue
		}
		target, ok := s.follow(op.Path)
		if !ok || !wantsByteCode(dirs, target) {
			continue
		}
		if j, ok := s.at[pycPath(target, s.tag)]; ok && (p.Ops[j].Kind == KindFile || p.Ops[j].Kind == KindData) {
			code := p.Ops[j]
			s.alone[pycPath(op.Path, s.tag)] = s.alone[code.Path]
			s.put(op, Op{Kind: code.Kind, SHA256: code.SHA256, Size: code.Size, Data: code.Data})
		}
	}
}

// maxHops is after how many links the kernel takes a path for a circle.
const maxHops = 40

// follow finds the file that a path leads to in the prefix, through all links, as
// the kernel does it: what comes after a link to a directory is relative to where
// that leads. false: it leads to no file, or out of the prefix. Byte-code is used
// without a look at its source, so a mistake here would run another file's.
func (s *setter) follow(p string) (string, bool) {
	at, hops := "", 0
	for todo := strings.Split(p, "/"); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return "", false
			}
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		next := path.Join(at, name)
		i, ok := s.at[next]
		if !ok {
			return "", false
		}
		op := &s.plan.Ops[i]
		switch {
		case op.Kind == KindSymlink:
			if hops++; hops > maxHops || path.IsAbs(op.Target) {
				return "", false
			}
			todo = append(strings.Split(op.Target, "/"), todo...)
		case op.Kind == KindDir:
			at = next
		default:
			// A file: nothing may come after it.
			return next, len(todo) == 0 && (op.Kind == KindFile || op.Kind == KindPatch)
		}
	}
	return "", false
}

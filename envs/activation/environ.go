package activation

import (
	"fmt"
	"strings"
)

// environ is an environment as an ordered map. Entries without "=" and later
// duplicates of a name cannot be seen by getenv and are dropped.
type environ struct {
	names []string
	vals  map[string]string
}

func parseEnviron(env []string) *environ {
	e := &environ{names: make([]string, 0, len(env)), vals: make(map[string]string, len(env))}
	for _, kv := range env {
		name, val, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		if _, dup := e.vals[name]; dup {
			continue
		}
		e.names = append(e.names, name)
		e.vals[name] = val
	}
	return e
}

func (e *environ) clone() *environ {
	c := &environ{names: append([]string(nil), e.names...), vals: make(map[string]string, len(e.vals))}
	for k, v := range e.vals {
		c.vals[k] = v
	}
	return c
}

func (e *environ) get(name string) (string, bool) {
	v, ok := e.vals[name]
	return v, ok
}

func (e *environ) set(name, val string) {
	if _, ok := e.vals[name]; !ok {
		e.names = append(e.names, name)
	}
	e.vals[name] = val
}

func (e *environ) unset(name string) {
	if _, ok := e.vals[name]; !ok {
		return
	}
	delete(e.vals, name)
	for i, n := range e.names {
		if n == name {
			e.names = append(e.names[:i], e.names[i+1:]...)
			return
		}
	}
}

func (e *environ) list() []string {
	out := make([]string, 0, len(e.names))
	for _, n := range e.names {
		out = append(out, n+"="+e.vals[n])
	}
	return out
}

// joinList puts a before b in a list variable; had tells an empty value that
// was set from a variable that was not (both count as an empty list).
func joinList(a, sep, b string) string {
	switch {
	case b == "":
		return a
	case a == "":
		return b
	}
	return a + sep + b
}

func (e *environ) apply(op Op) error {
	if op.Name == "" || strings.ContainsAny(op.Name, "=\x00") || strings.ContainsRune(op.Value, 0) {
		return fmt.Errorf("activation patch: %s of variable %q: name or value cannot be in an environment; prepare the environment again", op.Kind, op.Name)
	}
	old := e.vals[op.Name]
	switch op.Kind {
	case OpSet:
		val := op.Value
		if op.Expand {
			val, _ = expand(val, e.get)
		}
		e.set(op.Name, val)
	case OpUnset:
		e.unset(op.Name)
	case OpPrepend:
		e.set(op.Name, joinList(op.Value, sepOf(op), old))
	case OpAppend:
		e.set(op.Name, joinList(old, sepOf(op), op.Value))
	default:
		return fmt.Errorf("activation patch: variable %s: unknown operation %q (a newer hpcenv wrote it? this host's hpcenv must be as new as the daemon)", op.Name, op.Kind)
	}
	return nil
}

func sepOf(op Op) string {
	if op.Sep == "" {
		return ":"
	}
	return op.Sep
}

// Apply returns env changed by the patch. env itself is not changed. The order
// of existing variables is kept; new ones follow in the patch's order.
func Apply(env []string, p Patch) ([]string, error) {
	e := parseEnviron(env)
	for _, op := range p.Ops {
		if err := e.apply(op); err != nil {
			return nil, err
		}
	}
	return e.list(), nil
}

package materialize

import (
	"encoding/json"
	"strings"
)

// frozenMessage is what conda, mamba and pixi show to who tries to change the
// prefix (conda-meta/frozen, CEP 22). add is how the project is changed.
func frozenMessage(add string) string {
	return "This environment is made from a lock file and shared by all who use that lock. " +
		"To change it, change the project (" + add + "), then run: hpcenv prepare"
}

// managedMessage is what pip shows (EXTERNALLY-MANAGED).
func managedMessage(add string) []string {
	return []string{
		"This environment is made from a lock file and cannot be changed in place.",
		"",
		"To keep a package, add it to the project and prepare the new lock:",
		"    " + add,
		"    hpcenv prepare",
		"",
		"To try a package first, put a virtual environment on top:",
		"    python -m venv --system-site-packages ~/try",
		"    ~/try/bin/pip install PACKAGE",
	}
}

// How a package is added to a project, by what its lock is: a Python of its own is
// given to locks only that pixi did not write.
const (
	pixiAdd = "pixi add --no-install PACKAGE"
	uvAdd   = "uv add --no-sync PACKAGE"
)

// markers are the files that no package brings: records, the history that makes
// conda take the directory for an environment, and two notices that it is not to
// be changed. They win over any package's file.
func (p *Plan) markers() []Op {
	add, more := pixiAdd, "      (--pypi for a package from PyPI)"
	if len(p.Packages) > 0 && p.Packages[0].Python != nil { // it is the first
		add, more = uvAdd, ""
	}
	frozen, err := json.Marshal(map[string]string{"message": frozenMessage(add)})
	if err != nil {
		panic("frozen marker: " + err.Error()) // a map of strings always marshals
	}
	ops := []Op{
		{Path: "conda-meta/history", Kind: KindData, Owner: Own},
		{Path: "conda-meta/frozen", Kind: KindData, Owner: Own, Data: append(frozen, '\n')},
	}
	if p.python != nil {
		ops = append(ops, Op{
			Path: p.python.stdlib() + "/EXTERNALLY-MANAGED", Kind: KindData, Owner: Own,
			Data: []byte("[externally-managed]\nError=" + strings.Join(indentedLines(managedMessage(add+more)), "\n") + "\n"),
		}, Op{Path: p.python.Site + "/" + OverlayHook, Kind: KindData, Owner: Own, Data: []byte(OverlayLine)})
	}
	for i, pkg := range p.Packages {
		if pkg.Lock == nil {
			continue // a wheel's RECORD is its record; a Python of its own has none
		}
		ops = append(ops, Op{Path: "conda-meta/" + label(pkg) + ".json", Kind: KindRecord, Owner: i})
	}
	return ops
}

// indentedLines makes lines the continuation of an INI value: each but the first
// is indented, and an empty one holds a blank so that readers keep it.
func indentedLines(lines []string) []string {
	out := append([]string(nil), lines...)
	for i := 1; i < len(out); i++ {
		out[i] = " " + out[i]
	}
	return out
}

package activation

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
)

// fromShell are variables that make an interpreter look outside its
// environment; inherited from a submitting shell they are an accident.
var fromShell = []string{"PYTHONPATH", "PYTHONHOME", "R_LIBS", "R_LIBS_USER", "R_LIBS_SITE"}

var (
	// condaState are the variables in which conda, mamba and pixi keep what is
	// active; CONDA_EXE, CONDARC, PIXI_HOME and the like are settings and stay.
	condaState = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(CONDA_(PREFIX(_[0-9]+)?|SHLVL|DEFAULT_ENV|PROMPT_MODIFIER|STACKED_[0-9]+)|PIXI_(PROJECT_[A-Z_]+|ENVIRONMENT_[A-Z_]+|IN_SHELL|PROMPT|EXE)|MAMBA_SHLVL)$`)
	})
	condaPrefix  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^CONDA_PREFIX(_[0-9]+)?$`) })
	condaBackups = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:__CONDA_SHLVL|CONDA_ENV_SHLVL)_([0-9]+)_(.+)$`) })
)

// Clean returns what must go from an environment that a submitting shell left
// before another environment is activated in it: another active conda or pixi
// environment, and variables such as PYTHONPATH that would reach into ours.
// notes has one line for each of the two. An environment that hpcenv itself
// activated is not Clean's business.
func Clean(env []string) (ops Patch, notes []string) {
	before := parseEnviron(env)
	after := before.clone()
	notes = cleanConda(after)
	notes = append(notes, cleanShell(after)...)
	return Final(before.list(), after.list()), notes
}

func cleanShell(e *environ) []string {
	var gone []string
	for _, n := range fromShell {
		if _, ok := e.get(n); ok {
			e.unset(n)
			gone = append(gone, n)
		}
	}
	if gone == nil {
		return nil
	}
	return []string{"unset what the submitting shell had: " + strings.Join(gone, ", ") + " (they would hide the environment's own packages; to have them, set them in the job script)"}
}

func cleanConda(e *environ) []string {
	var prefixes []string
	for _, n := range e.names {
		if p := e.vals[n]; condaPrefix().MatchString(n) && filepath.IsAbs(p) {
			prefixes = append(prefixes, filepath.Clean(p))
		}
	}
	active, _ := e.get("CONDA_PREFIX")
	for _, p := range prefixes {
		removeBelow(e, "PATH", func(el string) bool { return el == p+"/bin" })
		if !systemDir(p) {
			removeBelow(e, "LD_LIBRARY_PATH", func(el string) bool { return el == p || strings.HasPrefix(el, p+"/") })
			dropDeclared(e, p)
		}
	}
	restoreBackups(e)
	found := len(prefixes) > 0
	for _, n := range append([]string(nil), e.names...) {
		if condaState().MatchString(n) {
			e.unset(n)
			found = true
		}
	}
	if !found {
		return nil
	}
	if active == "" {
		return []string{"removed what another conda or pixi environment left in the submitting shell"}
	}
	return []string{"left the environment that was active in the submitting shell: " + active}
}

// systemDir: a "prefix" whose bin everybody needs.
func systemDir(p string) bool {
	return p == "/" || p == "/usr" || p == "/usr/local" || p == ""
}

func removeBelow(e *environ, name string, gone func(string) bool) {
	val, ok := e.get(name)
	if !ok {
		return
	}
	list := strings.Split(val, ":")
	var keep []string
	for _, el := range list {
		c := el
		if c != "" {
			c = filepath.Clean(c)
		}
		if c == "/usr/bin" || c == "/bin" || c == "/usr/local/bin" || !gone(c) {
			keep = append(keep, el)
		}
	}
	switch {
	case len(keep) == len(list):
	case len(keep) == 0:
		e.unset(name)
	default:
		e.set(name, strings.Join(keep, ":"))
	}
}

// dropDeclared unsets what the other environment's packages declared, where
// that can be read here and the value is still theirs.
func dropDeclared(e *environ, prefix string) {
	r, err := os.OpenRoot(prefix)
	if err != nil {
		return // Not on this host: nothing can be known of it.
	}
	defer r.Close()
	var ignored []string
	ops, err := readVars(r, &ignored)
	if err != nil {
		return // A broken foreign environment is not this job's trouble.
	}
	for _, op := range ops {
		if op.Kind != OpSet {
			continue
		}
		want := op.Value
		if op.Expand {
			want, _ = expand(want, e.get)
		}
		if cur, ok := e.get(op.Name); ok && cur == want {
			e.unset(op.Name)
		}
	}
}

// restoreBackups gives variables the value they had before the first
// environment was activated, and removes the backups.
func restoreBackups(e *environ) {
	type backup struct{ name, of, level string }
	var all []backup
	for _, n := range e.names {
		if m := condaBackups().FindStringSubmatch(n); m != nil {
			all = append(all, backup{n, m[2], m[1]})
		}
	}
	// The lowest level is the oldest value; numbers of equal form sort by length, then text.
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i].level, all[j].level
		if len(a) != len(b) {
			return len(a) < len(b)
		}
		return a < b
	})
	done := map[string]bool{}
	for _, b := range all {
		val := e.vals[b.name]
		e.unset(b.name)
		if done[b.of] || condaState().MatchString(b.of) || b.of == "PATH" {
			continue
		}
		done[b.of] = true
		// A variable that is set now was set by somebody later, unless the
		// environment's declarations could not be read; it then stays.
		if _, set := e.get(b.of); !set && val != "" {
			e.set(b.of, val)
		}
	}
}

package editable

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// hatchKey is where a setting of hatchling's wheel is: the target's own, else the
// build's.
func (r *reader) hatchKey(key string) []string {
	target := []string{"tool", "hatch", "build", "targets", "wheel", key}
	if r.root.Get(target...) != nil {
		return target
	}
	return []string{"tool", "hatch", "build", key}
}

// hatchLayout: dev-mode-dirs, else the directories above what is selected.
func hatchLayout(r *reader) error {
	r.out.written = r.text("project", "version")
	if err := r.hatchHooks(); err != nil {
		return err
	}
	for _, key := range []string{"force-include", "shared-data", "shared-scripts"} {
		if err := r.forbid("puts copies of files elsewhere, which a live source tree cannot be", r.hatchKey(key)...); err != nil {
			return err
		}
	}
	if dirs := r.texts(r.hatchKey("dev-mode-dirs")...); len(dirs) > 0 {
		for _, d := range dirs {
			r.out.Paths = append(r.out.Paths, r.path(d))
		}
		slices.Sort(r.out.Paths)
		r.out.pth = "_" + fileName(r.out.Name) + ".pth"
		return nil
	}
	if r.flag(r.hatchKey("dev-mode-exact")...) {
		return r.refuse(r.line(r.hatchKey("dev-mode-exact")...), "leave it out: the overlay then has the directory", "dev-mode-exact is not known here")
	}
	r.out.pth = "_editable_impl_" + fileName(r.out.Name) + ".pth"
	sources, err := r.hatchSources()
	if err != nil {
		return err
	}
	selected := r.texts(r.hatchKey("only-include")...)
	if len(selected) == 0 {
		for _, p := range r.texts(r.hatchKey("packages")...) {
			p = path.Clean(p)
			// A package is moved to the root.
			if dir := path.Dir(p); dir != "." {
				sources = append(sources, dir)
			}
			selected = append(selected, p)
		}
	}
	if len(selected) == 0 && len(r.texts(r.hatchKey("include")...)) > 0 {
		for _, p := range r.texts(r.hatchKey("include")...) {
			if !strings.HasPrefix(p, "!") {
				selected = append(selected, literal(p))
			}
		}
	} else if len(selected) == 0 {
		one, dir, err := r.hatchDefault()
		if err != nil {
			return err
		}
		selected = []string{one}
		if dir != "" {
			sources = append(sources, dir)
		}
	}
	slices.SortFunc(selected, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	for _, s := range selected {
		dir := r.tree.Dir
		for _, source := range sources {
			if s == source || strings.HasPrefix(s, source+"/") {
				dir = r.path(source)
				break
			}
		}
		if !slices.Contains(r.out.Paths, dir) {
			r.out.Paths = append(r.out.Paths, dir)
		}
	}
	return nil
}

// literal is the part of a pattern before its first wildcard, to the last slash.
func literal(pattern string) string {
	pattern = strings.TrimPrefix(pattern, "/")
	if i := strings.IndexAny(pattern, "*?["); i >= 0 {
		pattern = pattern[:i]
		pattern = pattern[:strings.LastIndexByte(pattern, '/')+1]
	}
	return path.Clean(pattern)
}

// hatchSources are directories that are taken off the paths of what is in them.
func (r *reader) hatchSources() ([]string, error) {
	key := r.hatchKey("sources")
	v := r.root.Get(key...)
	if v == nil || v.Kind == tomltree.Array {
		var out []string
		for _, s := range r.texts(key...) {
			out = append(out, path.Clean(s))
		}
		return out, nil
	}
	var out []string
	for _, p := range r.pairs(key...) {
		if to := path.Clean(p.value); p.value != "" && to != "." && path.Clean(p.key) != to {
			return nil, r.refuse(v.Line, "move the files so that no other name is needed", "[%s] gives %s another name (%s), which an editable install cannot", strings.Join(key, "."), p.key, p.value)
		}
		out = append(out, path.Clean(p.key))
	}
	return out, nil
}

var notWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{N}_.]+`) })

// hatchDefault is what hatchling takes where nothing is selected: something with
// the project's name. dir is the directory above it that is taken off; "" = the
// root.
func (r *reader) hatchDefault() (selected, dir string, err error) {
	names := []string{notWord().ReplaceAllString(r.out.Name, "_"), notWord().ReplaceAllString(name.Normalize(r.out.Name), "_")}
	for _, n := range names {
		switch {
		case r.isFile(n, "__init__.py"):
			return n, "", nil
		case r.isFile("src", n, "__init__.py"):
			return "src/" + n, "src", nil
		case r.isFile(n + ".py"):
			return n + ".py", "", nil
		}
		found, err := filepath.Glob(filepath.Join(globQuote(r.tree.Dir), "*", globQuote(n), "__init__.py"))
		if err != nil {
			return "", "", err
		}
		if len(found) == 1 {
			return filepath.Base(filepath.Dir(filepath.Dir(found[0]))), "", nil
		}
	}
	return "", "", r.refuse(0, "write [tool.hatch.build.targets.wheel] with packages = [\"…\"]", "hatchling finds nothing to install: no package or module has the project's name (%s)", strings.Join(slices.Compact(names), " or "))
}

// hatchHooks refuses hooks that run programs; those that write a version file are
// fine if the file is there.
func (r *reader) hatchHooks() error {
	for _, at := range [][]string{{"tool", "hatch", "build", "hooks"}, {"tool", "hatch", "build", "targets", "wheel", "hooks"}} {
		hooks := r.is(tomltree.Table, at...)
		if hooks == nil {
			continue
		}
		for _, e := range hooks.Entries {
			file := r.text(append(slices.Clone(at), e.Key, map[string]string{"vcs": "version-file", "version": "path"}[e.Key])...)
			switch {
			case e.Key != "vcs" && e.Key != "version" || file == "":
				return r.refuse(e.Value.Line, buildWheel, "the build hook %q is a program that would have to be run", e.Key)
			case !r.isFile(file):
				return r.refuse(e.Value.Line, "install it once where you work (`pixi install`), which writes the file", "the build hook %q writes %s, which is not there", e.Key, file)
			}
		}
	}
	return r.forbid("are programs that would have to be run", "tool", "hatch", "metadata", "hooks", "custom")
}

var hatchPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^(?:__version__|VERSION)(?:: str)? *= *(?:"v?([^"\n]+?)"|'v?([^'\n]+?)')`)
})

// hatchVersion reads [tool.hatch.version].
func hatchVersion(r *reader) (string, error) {
	at := []string{"tool", "hatch", "version"}
	file := r.text(append(at, "path")...)
	source := r.text(append(at, "source")...)
	if source == "env" {
		if v := r.text(append(at, "variable")...); v != "" {
			return os.Getenv(v), nil
		}
	}
	if source == "vcs" {
		return r.vcsVersion("tool", "hatch", "version", "raw-options")
	}
	if file == "" || source != "" && source != "regex" {
		return "", nil
	}
	data, err := r.named(file, "[tool.hatch.version]", r.line(at...))
	if err != nil {
		return "", err
	}
	pattern := hatchPattern()
	if own := r.root.Get(append(at, "pattern")...); own != nil && own.Kind == tomltree.String {
		// Both languages of patterns agree on what version patterns use.
		if pattern, err = regexp.Compile("(?m)" + own.Text); err != nil || pattern.SubexpIndex("version") < 0 {
			return "", nil
		}
		if m := pattern.FindSubmatch(data); m != nil {
			return string(m[pattern.SubexpIndex("version")]), nil
		}
	} else if m := pattern.FindSubmatch(data); m != nil {
		return string(m[1]) + string(m[2]), nil
	}
	return "", r.refuse(r.line(at...), "correct [tool.hatch.version]", "%s states no version", file)
}

// fileName is a project's name as it stands in file names.
func fileName(n string) string { return strings.ReplaceAll(name.Normalize(n), "-", "_") }

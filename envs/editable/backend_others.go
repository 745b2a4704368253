package editable

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// builtWith tells whether the build needs a package.
func (r *reader) builtWith(pkg string) bool {
	return slices.ContainsFunc(r.texts("build-system", "requires"), func(text string) bool {
		req, err := requirement.Parse(text)
		return err == nil && name.Equal(req.Name, pkg)
	})
}

// flitModule finds the module that flit installs: its file or directory, and the
// directory that holds it.
func (r *reader) flitModule() (module, file, dir string, err error) {
	module = r.text("tool", "flit", "module", "name")
	if module == "" {
		module = strings.ReplaceAll(r.out.Name, "-", "_")
	}
	at := strings.ReplaceAll(module, ".", "/")
	var found [][2]string
	for _, base := range []string{".", "src"} {
		if p := path.Join(base, at); r.isDir(p) {
			found = append(found, [2]string{p + "/__init__.py", base})
		}
		if p := path.Join(base, at+".py"); r.isFile(p) {
			found = append(found, [2]string{p, base})
		}
	}
	switch len(found) {
	case 1:
		return module, found[0][0], found[0][1], nil
	case 0:
		return "", "", "", r.refuse(0, "name it: [tool.flit.module] name = \"…\"", "there is no module %s, neither in the root nor in src", module)
	}
	return "", "", "", r.refuse(0, "remove all but one", "the module %s is there more than once", module)
}

func flitLayout(r *reader) error {
	if err := r.forbid("puts copies of files elsewhere, which a live source tree cannot be", "tool", "flit", "external-data"); err != nil {
		return err
	}
	module, file, dir, err := r.flitModule()
	if err != nil {
		return err
	}
	if slices.Contains(r.dynamic, "description") && r.isFile(file) {
		data, err := r.named(file, "the module", 0)
		if err != nil {
			return err
		}
		r.add("Summary", docLine(string(data)))
	}
	r.out.pth, r.out.Paths = module+".pth", []string{r.path(dir)}
	return nil
}

var docstring = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\s|#[^\n]*\n)*[rR]?(?:"""\s*([^\n]*?)\s*(?:\n|""")|'''\s*([^\n]*?)\s*(?:\n|''')|"([^"\\\n]*)"|'([^'\\\n]*)')`)
})

// docLine is the first line of a source's docstring.
func docLine(source string) string {
	m := docstring().FindStringSubmatch(source)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + m[3] + m[4]
}

func flitVersion(r *reader) (string, error) {
	_, file, _, err := r.flitModule()
	if err != nil {
		return "", err
	}
	files := []string{file}
	if dir, init := path.Split(file); init == "__init__.py" {
		for _, f := range []string{"version.py", "_version.py", "__version__.py"} {
			files = append(files, dir+f)
		}
	}
	for _, f := range slices.Backward(files) {
		if !r.isFile(f) {
			continue
		}
		data, err := r.named(f, "the module", 0)
		if err != nil {
			return "", err
		}
		if v, ok := constant(string(data), "__version__"); ok {
			return v, nil
		} else if assigned(string(data), "__version__") {
			return "", nil // computed when it is imported
		}
	}
	return "", nil
}

func pdmLayout(r *reader) error {
	build := []string{"tool", "pdm", "build"}
	at := func(key string) []string { return append(slices.Clone(build), key) }
	for key, why := range map[string]string{
		"custom-hook":    "is a program that would have to be run",
		"run-setuptools": "runs setuptools, whose modules may be compiled",
		"wheel-data":     "puts copies of files elsewhere, which a live source tree cannot be",
	} {
		if v := r.root.Get(at(key)...); v != nil && v.Text == "false" {
			continue
		}
		if err := r.forbid(why, at(key)...); err != nil {
			return err
		}
	}
	if r.isFile("pdm_build.py") {
		return r.refuse(0, buildWheel, "its pdm_build.py is a program that would have to be run")
	}
	if r.text(at("editable-backend")...) == "editables" {
		return r.refuse(r.line(at("editable-backend")...), "leave it out: the overlay then has the directory", "the editable backend `editables` is not known here")
	}
	dir := r.text(at("package-dir")...)
	if r.root.Get(at("package-dir")...) == nil {
		includes := r.texts(at("includes")...)
		excludes := r.texts(at("excludes")...)
		inSrc := slices.ContainsFunc(includes, func(p string) bool { return path.Clean(p) == "src" || strings.HasPrefix(path.Clean(p), "src/") })
		if r.isDir("src") && len(includes) == 0 || inSrc && !slices.Contains(excludes, "src") && !slices.Contains(excludes, "src/") {
			dir = "src"
		}
	}
	r.out.pth, r.out.Paths = "_editable_impl_"+fileName(r.out.Name)+".pth", []string{r.path(dir)}
	return nil
}

func uvLayout(r *reader) error {
	at := func(key string) []string { return []string{"tool", "uv", "build-backend", key} }
	if err := r.forbid("puts copies of files elsewhere, which a live source tree cannot be", at("data")...); err != nil {
		return err
	}
	root := "src"
	if r.root.Get(at("module-root")...) != nil {
		root = r.text(at("module-root")...)
	}
	modules := r.textOrTexts(at("module-name")...)
	if len(modules) == 0 {
		modules = []string{strings.ReplaceAll(fileName(r.out.Name), ".", "_")}
	}
	for _, m := range modules {
		dir := path.Join(root, strings.ReplaceAll(m, ".", "/"))
		init := "__init__.py"
		if top, _, _ := strings.Cut(m, "."); strings.HasSuffix(top, "-stubs") {
			init = "__init__.pyi"
		}
		if !r.isFile(dir, init) && !(r.flag(at("namespace")...) && r.isDir(dir)) {
			return r.refuse(r.line(at("module-name")...), "name it: [tool.uv.build-backend] module-name and module-root", "there is no %s", path.Join(dir, init))
		}
	}
	r.out.pth, r.out.Paths = fileName(r.out.Name)+".pth", []string{r.path(root)}
	return nil
}

func poetryLayout(r *reader) error {
	at := func(key string) []string { return []string{"tool", "poetry", key} }
	if err := r.forbid("is a program that would have to be run", at("build")...); err != nil {
		return err
	}
	module := strings.ReplaceAll(r.out.Name, "-", "_")
	module = strings.ReplaceAll(module, ".", "_")
	r.out.pth = strings.ToLower(module) + ".pth"
	list := r.is(tomltree.Array, at("packages")...)
	if list == nil {
		for _, m := range []string{module, strings.ToLower(module)} {
			for _, base := range []string{".", "src"} {
				dir, file := r.isDir(base, m), r.isFile(base, m+".py")
				if dir && file {
					return r.refuse(0, "remove one", "both %s and %s.py are there", path.Join(base, m), path.Join(base, m))
				}
				if dir || file {
					r.out.Paths = []string{r.path(base)}
					return nil
				}
			}
		}
		return r.refuse(0, "name it: [tool.poetry] packages = [{include = \"…\"}]", "there is no package or module %s, neither in the root nor in src", module)
	}
	for _, item := range list.Items {
		var to, from string
		for key, into := range map[string]*string{"to": &to, "from": &from} {
			if v := item.Get(key); v != nil && v.Kind == tomltree.String {
				*into = v.Text
			}
		}
		if to != "" {
			return r.refuse(item.Line, "move the files to where their names say", "[tool.poetry] packages puts a package elsewhere (to = %q)", to)
		}
		if dir := r.path(from); !slices.Contains(r.out.Paths, dir) {
			r.out.Paths = append(r.out.Paths, dir)
		}
	}
	return nil
}

// poetryFields reads [tool.poetry], which stood for [project] before that was
// there. Its dependencies have a form of their own; what it comes to is in the
// lock.
func (r *reader) poetryFields() error {
	at := func(key string) []string { return []string{"tool", "poetry", key} }
	r.out.Name = r.text(at("name")...)
	if err := r.checkName(); err != nil {
		return err
	}
	if v := r.text(at("version")...); v != "" {
		if err := r.setVersion(v); err != nil {
			return err
		}
	}
	r.add("Summary", r.text(at("description")...))
	r.add("Requires-Python", r.tree.RequiresPython)
	r.add("Keywords", strings.Join(r.texts(at("keywords")...), ","))
	r.add("License", r.text(at("license")...))
	if err := r.requires("", r.tree.RequiresDist); err != nil {
		return err
	}
	if readme := r.root.Get(at("readme")...); readme != nil && readme.Kind == tomltree.String {
		data, err := r.named(readme.Text, "the readme", readme.Line)
		if err != nil {
			return err
		}
		r.add("Description-Content-Type", readmeTypes[strings.ToLower(path.Ext(readme.Text))])
		r.out.metadata.description = string(data)
	}
	for _, e := range entriesOf(r.is(tomltree.Table, at("scripts")...)) {
		if e.Value.Kind != tomltree.String {
			return r.refuse(e.Value.Line, "write it as \"module:function\"", "the script %s is a file, which is copied", e.Key)
		}
	}
	if items := r.pairs(at("scripts")...); len(items) > 0 {
		r.out.entries = append(r.out.entries, group{"console_scripts", items})
	}
	for _, e := range entriesOf(r.is(tomltree.Table, at("plugins")...)) {
		if items := r.pairs(append(at("plugins"), e.Key)...); len(items) > 0 {
			r.out.entries = append(r.out.entries, group{e.Key, items})
		}
	}
	return nil
}

func entriesOf(v *tomltree.Value) []tomltree.Entry {
	if v == nil {
		return nil
	}
	return v.Entries
}

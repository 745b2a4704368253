package editable

import (
	"path"
	"strings"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// setuptoolsVersion reads [tool.setuptools.dynamic] version.
func setuptoolsVersion(r *reader) (string, error) {
	at := []string{"tool", "setuptools", "dynamic", "version"}
	v := r.is(tomltree.Table, at...)
	if v == nil {
		if r.root.Get("tool", "setuptools_scm") != nil || r.builtWith("setuptools-scm") {
			return r.vcsVersion("tool", "setuptools_scm")
		}
		return "", nil
	}
	if v.Get("file") != nil {
		var out []string
		for _, file := range r.textOrTexts("tool", "setuptools", "dynamic", "version", "file") {
			data, err := r.named(file, "[tool.setuptools.dynamic] version", v.Line)
			if err != nil {
				return "", err
			}
			out = append(out, string(data))
		}
		return strings.TrimSpace(strings.Join(out, "\n")), nil
	}
	module, attribute, ok := cutLast(r.text("tool", "setuptools", "dynamic", "version", "attr"))
	if !ok {
		return "", nil
	}
	dir, places := strings.ReplaceAll(module, ".", "/"), []string{""}
	for _, p := range r.pairs("tool", "setuptools", "package-dir") {
		if p.key == "" {
			places = append([]string{p.value}, places...)
		} else if rest, ok := strings.CutPrefix(module+".", p.key+"."); ok {
			places = append([]string{path.Join(p.value, strings.TrimSuffix(strings.ReplaceAll(rest, ".", "/"), "/")) + "\x00"}, places...)
		}
	}
	places = append(places, r.texts("tool", "setuptools", "packages", "find", "where")...)
	for _, place := range append(places, "src") {
		full, mapped := strings.CutSuffix(place, "\x00")
		if !mapped {
			full = path.Join(place, dir)
		}
		for _, file := range []string{full + ".py", full + "/__init__.py"} {
			if !r.isFile(file) {
				continue
			}
			data, err := r.named(file, "[tool.setuptools.dynamic] version", v.Line)
			if err != nil {
				return "", err
			}
			if text, ok := constant(string(data), attribute); ok {
				return text, nil
			}
			return "", nil // it would be imported, which is running it
		}
	}
	return "", r.refuse(v.Line, "correct it", "the module %s, which has the version, is not there", module)
}

func cutLast(dotted string) (before, after string, ok bool) {
	i := strings.LastIndexByte(dotted, '.')
	if i < 0 {
		return "", "", false
	}
	return dotted[:i], dotted[i+1:], true
}

// pdmVersion reads [tool.pdm.version].
func pdmVersion(r *reader) (string, error) {
	switch r.text("tool", "pdm", "version", "source") {
	case "file", "":
	case "scm":
		return "", nil
	default:
		return "", nil
	}
	file := r.text("tool", "pdm", "version", "path")
	if file == "" {
		return "", nil
	}
	data, err := r.named(file, "[tool.pdm.version]", r.line("tool", "pdm", "version"))
	if err != nil {
		return "", err
	}
	if v, ok := constant(string(data), "__version__"); ok {
		return v, nil
	}
	return "", r.refuse(r.line("tool", "pdm", "version"), "write `__version__ = \"…\"` there", "%s states no __version__", file)
}

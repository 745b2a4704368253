package activation

import (
	"fmt"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// Plan is an activation in the order in which it is carried out.
type Plan struct {
	// Common is equal on all nodes, whatever their platform.
	Common Patch
	// Platform is what packages declare for this platform.
	Platform Patch
	// Scripts are sourced in one shell, in this order.
	Scripts []Source
	// Last is [activation.env], which wins over all before it.
	Last Patch
	// Notes for the user.
	Notes []string
}

// Source is one script of a Plan.
type Source struct {
	// Name is what messages call the script.
	Name string
	// Path is where the script lies; "" = it has no file.
	Path string
	// Content is what is sourced if Path is "" or holds something else;
	// nil = the file decides.
	Content *string
}

// Compose makes the plan for an environment (its name in the lock) on a
// platform (conda subdir): the static part, pixi's own variables except
// PIXI_EXE (there is no pixi at run time), and the manifest's scripts and
// variables. A nil manifest is a lock without its project.
func Compose(prefix string, static Static, m *Manifest, envName, platform string) Plan {
	var p Plan
	inline := func(name, value string) Source {
		text := "export " + name + "=\"" + strings.ReplaceAll(value, `"`, `\"`) + "\"\n"
		return Source{Name: "the value of " + name, Content: &text}
	}
	for _, op := range static.Patch.Ops {
		switch {
		case op.Name == "PATH" || op.Name == "CONDA_PREFIX" || op.Name == "CONDA_SHLVL":
			p.Common.Ops = append(p.Common.Ops, op)
		case op.Expand && !plain(op.Value):
			p.Scripts = append(p.Scripts, inline(op.Name, op.Value))
		default:
			p.Platform.Ops = append(p.Platform.Ops, op)
		}
	}
	p.Common.Ops = append(p.Common.Ops, identity(m, envName)...)
	p.Common.Ops = append(p.Common.Ops, Op{Kind: OpSet, Name: "PYTHONNOUSERSITE", Value: "1"})
	for _, s := range static.Scripts {
		p.Scripts = append(p.Scripts, Source{Name: path.Join(prefix, s), Path: path.Join(prefix, s)})
	}
	if m == nil {
		return p
	}
	scripts, ok := m.Scripts[platform]
	if !ok {
		scripts = m.Scripts[""]
	}
	for _, s := range scripts {
		if ext := path.Ext(s.Path); ext != ".sh" && ext != ".bash" {
			p.Notes = append(p.Notes, fmt.Sprintf("activation script %s of %s is not run: only .sh and .bash scripts are; rename it if it is one", s.Path, m.File))
			continue
		}
		src := Source{Name: s.Path, Content: &s.Content}
		if filepath.IsAbs(s.Path) {
			src.Path = s.Path
		} else if m.Root != "" {
			src.Path = filepath.Join(m.Root, s.Path)
		}
		if src.Path != "" {
			src.Name = src.Path
		}
		p.Scripts = append(p.Scripts, src)
	}
	for _, op := range manifestEnv(m, platform, &p.Notes) {
		if op.Expand && !plain(op.Value) {
			p.Scripts = append(p.Scripts, inline(op.Name, op.Value))
			continue
		}
		p.Last.Ops = append(p.Last.Ops, op)
	}
	return p
}

// plain: the value needs no shell.
func plain(value string) bool {
	_, ok := expand(value, func(string) (string, bool) { return "", false })
	return ok
}

// identity is what pixi says about the project and the environment.
func identity(m *Manifest, envName string) []Op {
	set := func(name, value string) Op { return Op{Kind: OpSet, Name: name, Value: value} }
	name := envName
	var ops []Op
	if m != nil {
		version := m.Version
		if version == "" {
			version = "NO_VERSION_SPECIFIED"
		}
		file := m.File
		if file != "" && !filepath.IsAbs(file) {
			file = filepath.Join(m.Root, file)
		}
		ops = append(ops, set("PIXI_PROJECT_ROOT", m.Root), set("PIXI_PROJECT_NAME", m.Name),
			set("PIXI_PROJECT_MANIFEST", file), set("PIXI_PROJECT_VERSION", version))
		if m.Name != "" {
			name = m.Name
			if envName != "default" {
				name += ":" + envName
			}
		}
		if len(m.Platforms) > 0 {
			ops = append(ops, set("PIXI_ENVIRONMENT_PLATFORMS", strings.Join(m.Platforms, ",")))
		}
	}
	return append(ops, set("PIXI_IN_SHELL", "1"), set("CONDA_DEFAULT_ENV", name),
		set("PIXI_ENVIRONMENT_NAME", envName), set("PIXI_PROMPT", "("+name+") "))
}

// manifestEnv returns [activation.env] for a platform: sorted by name, but a
// variable that others refer to goes before them.
func manifestEnv(m *Manifest, platform string, notes *[]string) []Op {
	vars := map[string]string{}
	for _, sub := range []string{"", platform} {
		for k, v := range m.Env[sub] {
			vars[k] = v
		}
	}
	names := make([]string, 0, len(vars))
	for n := range vars {
		names = append(names, n)
	}
	sort.Strings(names)
	var ops []Op
	done := map[string]bool{}
	var visit func(n string)
	visit = func(n string) {
		v, mine := vars[n]
		if !mine || done[n] {
			return
		}
		done[n] = true
		for _, ref := range references(v) {
			visit(ref)
		}
		if !validName(n) || strings.ContainsRune(v, 0) || n == MarkerName || n == UndoName || n == ShadowName || n == OverlayName {
			*notes = append(*notes, fmt.Sprintf("%s: [activation.env] %q passed over: no environment can hold it, or the name is reserved", m.File, n))
			return
		}
		ops = append(ops, Op{Kind: OpSet, Name: n, Value: v, Expand: strings.Contains(v, "$")})
	}
	for _, n := range names {
		visit(n)
	}
	return ops
}

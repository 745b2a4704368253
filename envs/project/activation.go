package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hpcenv/hpcenv/envs/activation"
)

// MaxScript bounds the bytes of one activation script: its text travels with
// every submission.
const MaxScript = 256 << 10

// UnknownEnvironmentError says that a manifest has no environment of a name. It
// wraps ErrManifest.
type UnknownEnvironmentError struct {
	Name, File string
	// Known are the names there are, sorted.
	Known []string
}

func (e *UnknownEnvironmentError) Error() string {
	return fmt.Sprintf("%s has no environment %q; it has %s; next: if the lock has it, the two differ: run `pixi lock`", e.File, e.Name, strings.Join(e.Known, ", "))
}

func (e *UnknownEnvironmentError) Unwrap() error { return ErrManifest }

// Environments are the names of the manifest's environments, sorted.
func (p *Project) Environments() []string {
	var names []string
	for name := range p.environments {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Default tells whether an environment has the default feature. The error is an
// *UnknownEnvironmentError.
func (p *Project) Default(env string) (bool, error) {
	e := p.environments[env]
	if e == nil {
		return false, &UnknownEnvironmentError{Name: env, File: p.File, Known: p.Environments()}
	}
	return !e.noDefault || slices.Contains(e.features, defaultName), nil
}

// featuresOf are the features of an environment, the strongest first: what the
// environment has inline, its features in their order, the default feature.
func (p *Project) featuresOf(env string) ([]*feature, error) {
	e := p.environments[env]
	if e == nil {
		return nil, &UnknownEnvironmentError{Name: env, File: p.File, Known: p.Environments()}
	}
	var out []*feature
	if e.inline != nil {
		out = append(out, e.inline)
	}
	for _, name := range e.features {
		out = append(out, p.features[name])
	}
	if !e.noDefault && !slices.Contains(e.features, defaultName) {
		out = append(out, p.features[defaultName])
	}
	return out, nil
}

// on are the tables of a feature that hold on a platform, the strongest first:
// targets from the last to the first, then the feature's own.
func (f *feature) on(pl Platform) []*tables {
	var out []*tables
	for i := range slices.Backward(f.targets) {
		if matches(f.targets[i].selector, pl) {
			out = append(out, &f.targets[i].tables)
		}
	}
	return append(out, &f.base)
}

// scriptRef is a script as a manifest names it.
type scriptRef struct {
	path string
	line int32
}

// merge applies pixi's rules for one platform. A variable has the value of the
// strongest feature that sets it, whatever the target. Of scripts, each feature
// contributes the list of its strongest table that has one, and these are run
// one feature after the other, the default feature's last.
func merge(features []*feature, pl Platform) (env map[string]string, scripts []scriptRef) {
	env = map[string]string{}
	for _, f := range features {
		taken := false
		for _, t := range f.on(pl) {
			a := &t.activation
			for name, value := range a.env {
				if _, set := env[name]; !set {
					env[name] = value
				}
			}
			if a.hasScripts && !taken {
				taken = true
				for _, path := range a.scripts {
					scripts = append(scripts, scriptRef{path, a.line})
				}
			}
		}
	}
	return env, scripts
}

// merged is the outcome for one platform.
type merged struct {
	subdir  string
	env     map[string]string
	scripts []scriptRef
}

// mergeAll merges for each Linux subdir of an environment; under the subdir ""
// alone if they all agree, or if the manifest names no platforms.
func (p *Project) mergeAll(features []*feature) []merged {
	var out []merged
	for _, pl := range linuxBySubdir(p.platformsOf(features)) {
		env, scripts := merge(features, pl)
		out = append(out, merged{pl.Subdir, env, scripts})
	}
	if len(out) == 0 {
		env, scripts := merge(features, Platform{})
		return []merged{{"", env, scripts}}
	}
	for _, m := range out[1:] {
		if !reflect.DeepEqual(m.env, out[0].env) || !reflect.DeepEqual(m.scripts, out[0].scripts) {
			return out
		}
	}
	out[0].subdir = ""
	return out[:1]
}

// Activation returns what the manifest adds to the activation of an
// environment, scripts with their contents as they are now.
//
// Env and Scripts have the key "" alone where all Linux platforms of the
// environment agree, else one complete entry for each of their subdirs and none
// for "". A script that does not exist is left out, as pixi does (it may be
// made by a later build): MissingScripts names those. One that cannot be read,
// is too long or is not UTF-8 is an error that names it and the manifest's line.
func (p *Project) Activation(env string) (*activation.Manifest, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, err
	}
	m := &activation.Manifest{Name: p.Name, Version: p.Version, Root: p.Root, File: filepath.Base(p.File)}
	for _, pl := range p.platformsOf(features) {
		m.Platforms = append(m.Platforms, pl.Name)
	}
	for _, one := range p.mergeAll(features) {
		if len(one.env) > 0 {
			if m.Env == nil {
				m.Env = map[string]map[string]string{}
			}
			m.Env[one.subdir] = one.env
		}
		for _, ref := range one.scripts {
			content, err := p.script(ref)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if m.Scripts == nil {
				m.Scripts = map[string][]activation.Script{}
			}
			m.Scripts[one.subdir] = append(m.Scripts[one.subdir], activation.Script{Path: ref.path, Content: content})
		}
	}
	return m, nil
}

// MissingScripts says of each activation script of an environment that does not
// exist where it was looked for and what names it, one sentence each.
func (p *Project) MissingScripts(env string) ([]string, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range p.mergeAll(features) {
		for _, ref := range one.scripts {
			if _, err := p.script(ref); errors.Is(err, fs.ErrNotExist) {
				out = append(out, fmt.Sprintf("%s:%d names the activation script %s, which does not exist; it is left out", p.File, ref.line, p.scriptFile(ref)))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (p *Project) scriptFile(ref scriptRef) string {
	if filepath.IsAbs(ref.path) {
		return ref.path
	}
	return filepath.Join(p.Root, ref.path)
}

// script reads a script; an error that it does not exist wraps fs.ErrNotExist.
func (p *Project) script(ref scriptRef) (string, error) {
	file := p.scriptFile(ref)
	data, err := readBounded(file, MaxScript)
	if err == nil && !utf8.Valid(data) {
		err = errors.New("it is not UTF-8 text")
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s:%d: the activation script %s: %w", ErrManifest, p.File, ref.line, file, err)
	}
	return string(data), nil
}

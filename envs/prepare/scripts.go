package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// ScriptRule allows the link scripts of one package of one channel.
type ScriptRule struct {
	// Channel is the whole URL, without credentials. A name alone would allow
	// whoever calls a channel so. A package is of the channel that its location lies
	// in, and that has its bytes.
	Channel string
	// Package is a package's name.
	Package string
}

// Scripts says which link scripts are run, and how. The zero value runs none.
type Scripts struct {
	Allow []ScriptRule
	// Runner runs them; nil = an environment with an allowed package that has a
	// script cannot be made.
	Runner linkscript.Runner
	// Jobs, if set, has precedence for its platforms.
	Jobs   *linkscript.Spool
	Limits linkscript.Limits
	// RefuseFailed: an environment of which a script fails is not made. Otherwise
	// it is, and is marked degraded.
	RefuseFailed bool
}

// ParseScriptRule reads CHANNEL::PACKAGE.
func ParseScriptRule(text string) (ScriptRule, error) {
	i := strings.LastIndex(text, "::")
	if i <= 0 || i+2 == len(text) || !strings.Contains(text[:i], "://") {
		return ScriptRule{}, fmt.Errorf("%w: %q is not CHANNEL::PACKAGE with the channel's whole URL, e.g. https://conda.example/main::fonts\nnext: `hpcenv inspect ID` names the packages whose scripts were skipped; `--packages --json` has their URLs", ErrRequest, text)
	}
	return ScriptRule{Channel: text[:i], Package: text[i+2:]}, nil
}

// ParseScriptRules reads rules separated by blanks, as HPCENV_RUN_SCRIPTS has them.
func ParseScriptRules(text string) ([]ScriptRule, error) {
	var rules []ScriptRule
	for _, t := range strings.Fields(text) {
		r, err := ParseScriptRule(t)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// allows goes by where the package is fetched from: the channel that an entry of
// a lock names is anybody's to write.
func (r ScriptRule) allows(p *lockfile.CondaPackage) bool {
	origin := p.Origin()
	return origin != "" && strings.TrimRight(r.Channel, "/") == origin && r.Package == p.Name
}

// confirmScripts makes sure that packages whose link scripts are about to be run
// are what their channels have: the store goes by digests, and gets archives from
// users, too.
func (r *run) confirmScripts(ctx context.Context, t target, packages []materialize.Package) error {
	for _, p := range packages {
		if p.Lock == nil || !slices.Contains(t.scripts, t.subdir+"/"+p.Lock.Name) {
			continue
		}
		meta, err := conda.DecodeMeta(p.Manifest.Meta)
		if err != nil {
			return fmt.Errorf("package %s: %w", p.Lock.Dist(), err)
		}
		if len(meta.Scripts) == 0 {
			continue
		}
		src, err := r.source(locked{conda: p.Lock})
		if err == nil {
			err = r.deps.Store.ConfirmOrigin(ctx, r.deps.Fetcher, src, p.Lock.Origin())
		}
		if err != nil {
			return fmt.Errorf("%s is allowed to run for packages of %s, which must be seen to have this one: %w", meta.Scripts[0], p.Lock.Origin(), err)
		}
	}
	return nil
}

// allowedScripts names, as materialize.Options has it, the packages of an
// environment whose link scripts are run. It goes by the lock alone: an allowed
// package counts whether it has a script or not, since ids are known before
// packages are.
func allowedScripts(rules []ScriptRule, platforms map[string]*lockfile.Platform) []string {
	var out []string
	for subdir, p := range platforms {
		for _, c := range p.Conda {
			if slices.ContainsFunc(rules, func(r ScriptRule) bool { return r.allows(c) }) {
				out = append(out, subdir+"/"+c.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (s Scripts) allowed(platforms map[string]*lockfile.Platform) []string {
	return allowedScripts(s.Allow, platforms)
}

// environmentScripts is allowedScripts for an environment of the lock, over the
// platforms that its id covers.
func (r *run) environmentScripts(lock *lockfile.Lock, name string) []string {
	env, err := lock.Environment(name)
	if err != nil {
		return nil // it is a target, so the lock has it
	}
	covered := map[string]*lockfile.Platform{}
	for _, subdir := range r.deps.Store.Format().Platforms {
		if p, err := env.Platform(subdir); err == nil {
			covered[subdir] = p
		}
	}
	return allowedScripts(r.deps.Scripts.Allow, covered)
}

// RulesDigest tells sets of rules apart (lockfile.Index.Scripts); "" = there are none.
func RulesDigest(rules []ScriptRule) string {
	var lines []string
	for _, r := range rules {
		lines = append(lines, strings.TrimRight(r.Channel, "/")+"\x00"+r.Package+"\n")
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(lines), "")))
	return hex.EncodeToString(sum[:])
}

// noteScripts tells the user what scripts did not do, every time, and what they say,
// when they were run.
func (r *run) noteScripts(env, subdir string, meta *materialize.Meta, made bool) {
	for _, s := range meta.Scripts {
		if s.Failed != "" {
			r.note(fmt.Sprintf("%s for %s is degraded: %s of %s failed: %s (hpcenv inspect %s shows what it printed)", env, subdir, s.Script, s.Package, s.Failed, meta.ID[:12]))
		}
		if made && s.Messages != "" {
			r.note(fmt.Sprintf("%s says: %s", s.Package, s.Messages))
		}
	}
	if len(meta.SkippedScripts) == 0 || r.req.DryRun { // a dry run lists them
		return
	}
	var of []string
	for _, s := range meta.SkippedScripts {
		of = append(of, strings.SplitN(s, ": ", 2)[0])
	}
	of = slices.Compact(of)
	const named = 3
	list := strings.Join(of[:min(len(of), named)], ", ")
	if n := len(of) - named; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	who := "the administrator may allow them: scripts.allow of hpcenvd"
	if r.deps.Store.Format().PrefixRoot == "" {
		who = "--run-scripts CHANNEL::PACKAGE allows them"
	}
	r.note(fmt.Sprintf("%s for %s: link scripts were not run, those of %s (%s; hpcenv inspect %s names them)", env, subdir, list, who, meta.ID[:12]))
}

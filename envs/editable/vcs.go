package editable

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// nodeDigits are what setuptools-scm shows of a commit's hash.
const nodeDigits = 9

var (
	// described is what `git describe --long` says.
	described = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*)-(\d+)-g([0-9a-f]+)\s*$`) })
	// tagged is a version in a tag: a name and a dash, or a v, may stand before it.
	tagged = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[\w-]+-)?[vV]?(\d+(?:\.\d+){0,2}[^+]*)(?:\+.*)?$`)
	})
	// lastNumber of a release.
	lastNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*?)(\d+)$`) })
)

// vcsVersion is the version that setuptools-scm (also within hatch-vcs) computes
// from git with its own rules: the tag, or the next version's .dev with the
// number of commits since. "" where settings at a path ask for other rules, or
// there is no tag.
func (r *reader) vcsVersion(settings ...string) (string, error) {
	own := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(r.out.Name))
	for _, v := range []string{"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_" + own, "SETUPTOOLS_SCM_PRETEND_VERSION"} {
		if text := os.Getenv(v); text != "" {
			return text, nil
		}
	}
	local := true
	if table := r.root.Get(settings...); table != nil && table.Kind == tomltree.Table {
		for _, e := range table.Entries {
			switch e.Key {
			case "version_file", "write_to", "version_file_template":
			case "local_scheme":
				if local = false; e.Value.Text != "no-local-version" {
					return "", nil
				}
			default:
				return "", nil
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	g := &git{dir: r.tree.Dir}
	if !inRepository(r.tree.Dir) || g.harmless(ctx) != "" {
		return "", nil
	}
	out, why := g.run(ctx, "describe", "--tags", "--long", "--abbrev=40", "--match", "*[0-9]*")
	m := described().FindStringSubmatch(out)
	if why != "" || m == nil {
		return "", nil
	}
	tag := tagged().FindStringSubmatch(m[1])
	if tag == nil || strings.Contains(tag[1], ".dev") {
		return "", nil
	}
	distance, err := strconv.Atoi(m[2])
	if err != nil {
		return "", nil // more commits than a number holds: the lock's version will do
	}
	changed, why := g.changed(ctx, "no", ":/") // of the whole repository
	if why != "" {
		return "", nil
	}
	dirty := changed != ""
	if distance == 0 && !dirty {
		return tag[1], nil
	}
	next := lastNumber().FindStringSubmatch(tag[1])
	if next == nil {
		return "", nil
	}
	n, err := strconv.Atoi(next[2])
	if err != nil {
		return "", nil
	}
	text := fmt.Sprintf("%s%d.dev%d", next[1], n+1, distance)
	if !local {
		return text, nil
	}
	var parts []string
	if distance > 0 {
		parts = append(parts, "g"+m[3][:min(len(m[3]), nodeDigits)])
	}
	if dirty {
		parts = append(parts, "d"+time.Now().UTC().Format("20060102"))
	}
	return text + "+" + strings.Join(parts, "."), nil
}

package task

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/project"
)

// render replaces {{ name }} by the value of an argument, and {{ pixi.… }} by
// what pixi says. A task without arguments may mean braces as they are; only
// pixi's own names are replaced there.
func (c *composer) render(t *project.Task, text string, values map[string]string) (string, error) {
	if t.HasArgs && (strings.Contains(text, "{%") || strings.Contains(text, "{#")) {
		return "", c.unsupported(t, "the template has statements or comments ({% %}, {# #})")
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		expr, after, closed := strings.Cut(rest, "}}")
		name := strings.TrimSpace(strings.Trim(expr, "-+")) // {{- x -}}
		value, known := values[name]
		if !known {
			value, known = c.pixi(name)
		}
		switch {
		case closed && known:
			b.WriteString(value)
			text = after
		case !t.HasArgs:
			b.WriteString("{{")
			text = rest
		case !closed:
			return "", fmt.Errorf("%w: %s:%d: task %s: `{{` is never closed; next: mend it", ErrTask, c.Project.File, t.Line, t.Name)
		default:
			return "", c.unsupported(t, fmt.Sprintf("the template `{{%s}}` is more than the name of an argument", expr))
		}
	}
}

// pixi are the variables that pixi gives to templates.
func (c *composer) pixi(name string) (string, bool) {
	switch name {
	case "pixi.platform":
		return c.Subdir, true
	case "pixi.environment.name":
		return c.Environment, true
	case "pixi.manifest_path":
		return c.Project.File, true
	case "pixi.init_cwd":
		return c.InitCwd, true
	case "pixi.is_linux", "pixi.is_unix":
		return "true", true
	case "pixi.is_win", "pixi.is_osx":
		return "false", true
	}
	return "", false
}

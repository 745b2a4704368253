package task

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/project"
)

// Compose returns how a task is run. Errors wrap ErrTask or
// project.ErrManifest.
func Compose(r Request) (*Plan, error) {
	c := &composer{Request: r, plan: &Plan{initCwd: r.InitCwd, self: r.Self, environment: r.Environment}, done: map[string]bool{}}
	if err := c.add(project.TaskCall{Task: r.Name, Args: r.Args}, nil); err != nil {
		return nil, err
	}
	return c.plan, nil
}

type composer struct {
	Request
	plan *Plan
	// done are tasks with their environment and arguments that are in the plan.
	done map[string]bool
}

// visit is a task in an environment.
type visit struct{ task, environment string }

// add puts a call behind what it depends on. path are the tasks that led here,
// those of other environments included: a circle may lead through several.
func (c *composer) add(call project.TaskCall, path []visit) error {
	if call.Environment != "" && call.Environment != c.Environment {
		there := *c
		there.Environment = call.Environment
		call.Environment = ""
		return there.add(call, path)
	}
	t, err := find(c.Project, c.Environment, c.Subdir, call.Task)
	if err != nil {
		return err
	}
	if t == nil {
		by := ""
		if len(path) > 0 {
			by = fmt.Sprintf(", on which %s depends", path[len(path)-1].task)
		}
		return fmt.Errorf("%w: environment %s has no task %q%s; next: hpcenv run --list", ErrTask, c.Environment, call.Task, by)
	}
	here := visit{t.Name, c.Environment}
	if slices.Contains(path, here) {
		return fmt.Errorf("%w: %s:%d: the tasks %s depend on each other in a circle; next: take one dependency out", ErrTask, c.Project.File, t.Line, c.circle(append(path, here)))
	}
	if t.CleanEnv {
		return c.unsupported(t, "`clean-env` takes away what Slurm and the site say; leave it out for use on a cluster")
	}
	values, rest, err := c.arguments(t, call)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%q %q %q", c.Environment, t.Name, append(append([]string{}, call.Args...), named(call.Named)...))
	if c.done[key] {
		return nil
	}
	for _, dep := range t.DependsOn {
		if dep, err = c.renderCall(t, dep, values); err != nil {
			return err
		}
		if err := c.add(dep, append(slices.Clone(path), here)); err != nil {
			return err
		}
	}
	c.done[key] = true
	return c.step(t, values, rest)
}

func named(list []project.TaskVariable) (out []string) {
	for _, v := range list {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

// circle names the tasks of a path; those of another environment than the
// plan's, with it.
func (c *composer) circle(path []visit) string {
	var out []string
	for _, v := range path {
		if v.environment != c.plan.environment {
			v.task += " (environment " + v.environment + ")"
		}
		out = append(out, v.task)
	}
	return strings.Join(out, ", ")
}

func (c *composer) unsupported(t *project.Task, why string) error {
	return fmt.Errorf("%w: %s:%d: task %s: %s; next: `pixi run %s` on a host with pixi, or the command itself: hpcenv run -- COMMAND", ErrUnsupported, c.Project.File, t.Line, t.Name, why, t.Name)
}

// arguments gives a task's arguments their values; rest are those behind, for a
// task that names none.
func (c *composer) arguments(t *project.Task, call project.TaskCall) (values map[string]string, rest []string, err error) {
	if !t.HasArgs {
		if len(call.Named) > 0 {
			return nil, nil, fmt.Errorf("%w: %s:%d: task %s takes no arguments by name; next: give it `args`", ErrTask, c.Project.File, t.Line, t.Name)
		}
		return nil, call.Args, nil
	}
	wrong := func(format string, args ...any) (map[string]string, []string, error) {
		return nil, nil, fmt.Errorf("%w: %s:%d: task %s %s; next: hpcenv run %s%s", ErrTask, c.Project.File, t.Line, t.Name, fmt.Sprintf(format, args...), t.Name, usage(t))
	}
	if len(call.Args) > len(t.Args) {
		return wrong("takes %d arguments, %d are given", len(t.Args), len(call.Args))
	}
	values = map[string]string{}
	for i, a := range t.Args {
		value, given := a.Default, a.HasDefault
		if i < len(call.Args) {
			value, given = call.Args[i], true
		}
		for _, n := range call.Named {
			if n.Name == a.Name {
				value, given = n.Value, true
			}
		}
		if !given {
			return wrong("needs the argument %s", a.Name)
		}
		if a.Choices != nil && !slices.Contains(a.Choices, value) {
			return wrong("takes for %s one of %s, not %q", a.Name, strings.Join(a.Choices, ", "), value)
		}
		values[a.Name] = value
	}
	for _, n := range call.Named {
		if !slices.ContainsFunc(t.Args, func(a project.TaskArg) bool { return a.Name == n.Name }) {
			return wrong("has no argument %s", n.Name)
		}
	}
	return values, nil, nil
}

// usage is what follows a task's name.
func usage(t *project.Task) string {
	var b strings.Builder
	for _, a := range t.Args {
		name := strings.ToUpper(a.Name)
		if a.HasDefault {
			name = "[" + name + "]"
		}
		b.WriteString(" " + name)
	}
	return b.String()
}

// renderCall puts values into the arguments of a dependency.
func (c *composer) renderCall(t *project.Task, call project.TaskCall, values map[string]string) (project.TaskCall, error) {
	args, byName := slices.Clone(call.Args), slices.Clone(call.Named)
	var err error
	for i := range args {
		if args[i], err = c.render(t, args[i], values); err != nil {
			return call, err
		}
	}
	for i := range byName {
		if byName[i].Value, err = c.render(t, byName[i].Value, values); err != nil {
			return call, err
		}
	}
	call.Args, call.Named = args, byName
	return call, nil
}

// step adds the task's own commands.
func (c *composer) step(t *project.Task, values map[string]string, rest []string) error {
	text := t.Command
	if t.Words != nil {
		words := make([]string, len(t.Words))
		for i, w := range t.Words {
			words[i] = word(w)
		}
		text = strings.Join(words, " ")
	}
	if strings.TrimSpace(text) == "" {
		if len(rest) > 0 {
			return fmt.Errorf("%w: %s:%d: task %s has no command that could take arguments; next: hpcenv run %s", ErrTask, c.Project.File, t.Line, t.Name, t.Name)
		}
		return nil
	}
	text, err := c.render(t, text, values)
	if err != nil {
		return err
	}
	for _, a := range rest {
		text = strings.TrimRight(text, " \t\n") + " " + quote(a)
	}
	cwd, err := c.render(t, t.Cwd, values)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(c.Project.Root, cwd)
	}
	for _, v := range t.Env {
		if !shellName(v.Name) {
			return fmt.Errorf("%w: %s:%d: task %s: no shell can set the variable %q; next: rename it", ErrTask, c.Project.File, t.Line, t.Name, v.Name)
		}
	}
	s := Step{Task: t.Name, Shell: text, Cwd: cwd, Env: t.Env}
	if c.Environment != c.plan.environment {
		s.Environment = c.Environment
	}
	if s.background, err = judge(text); err != nil {
		return c.unsupported(t, err.Error())
	}
	if t.Cached {
		c.plan.Notes = append(c.plan.Notes, fmt.Sprintf("task %s is run although nothing may have changed: its inputs and outputs are not looked at", t.Name))
	}
	c.plan.Steps = append(c.plan.Steps, s)
	return nil
}

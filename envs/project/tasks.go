package project

import (
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// Task is a task of a manifest, as written.
type Task struct {
	Name string
	// Command is the command line; Words it is instead if it was given as a list.
	Command string
	Words   []string
	// Args that the task takes, in order; HasArgs tells an empty list from none.
	Args    []TaskArg
	HasArgs bool
	// DependsOn are run before it.
	DependsOn []TaskCall
	// Env is set for the command, in the manifest's order.
	Env []TaskVariable
	// Cwd is where it runs, relative to the project's root; "" = there.
	Cwd         string
	Description string
	// Environment is the one to take where none is named (default-environment).
	Environment string
	// CleanEnv: it wants nothing of the caller's environment.
	CleanEnv bool
	// Cached: it has inputs or outputs, by which pixi skips it when nothing changed.
	Cached bool
	Line   int32
}

// TaskArg is one argument of a task.
type TaskArg struct {
	Name string
	// Default value; HasDefault tells an empty one from none.
	Default    string
	HasDefault bool
	// Choices that it is limited to; nil = any text.
	Choices []string
}

// TaskVariable is one variable of a task.
type TaskVariable struct{ Name, Value string }

// TaskCall is a task that another depends on.
type TaskCall struct {
	Task string
	// Args in order; Named by name.
	Args []string
	// Named are arguments by name, in the manifest's order.
	Named []TaskVariable
	// Environment to run it in; "" = the caller's.
	Environment string
}

func (m *manifest) readTasks(key string, v *node) []*Task {
	var out []*Task
	for _, e := range m.entries(key, v) {
		out = append(out, m.readTask(key+"."+e.Key, e.Key, e.Value))
	}
	return out
}

func (m *manifest) readTask(key, name string, v *node) *Task {
	t := &Task{Name: name, Line: v.Line}
	switch v.Kind {
	case tomltree.String:
		t.Command = v.Text
		return t
	case tomltree.Array: // an alias
		t.DependsOn = m.readCalls(key, v)
		return t
	case tomltree.Table:
	default:
		m.failf(v.Line, "`%s` must be a text, an array or a table, it is %s", key, v.Kind)
		return t
	}
	if cmd := v.Get("cmd"); cmd != nil && cmd.Kind == tomltree.Array {
		t.Words = m.texts(key+".cmd", cmd)
	} else {
		t.Command = m.text(key+".cmd", cmd)
	}
	for _, k := range []string{"depends-on", "depends_on"} {
		if calls := v.Get(k); calls != nil && calls.Kind != tomltree.Array {
			t.DependsOn = append(t.DependsOn, m.readCall(key+"."+k, calls))
		} else if calls != nil {
			t.DependsOn = append(t.DependsOn, m.readCalls(key+"."+k, calls)...)
		}
	}
	if args := v.Get("args"); args != nil {
		t.HasArgs = true
		for _, item := range m.list(key+".args", args) {
			t.Args = append(t.Args, m.readArg(key+".args", item))
		}
	}
	for _, e := range m.entries(key+".env", v.Get("env")) {
		t.Env = append(t.Env, TaskVariable{e.Key, m.text(key+".env."+e.Key, e.Value)})
	}
	t.Cwd = m.text(key+".cwd", v.Get("cwd"))
	t.Description = m.text(key+".description", v.Get("description"))
	t.Environment = m.text(key+".default-environment", v.Get("default-environment"))
	t.CleanEnv = m.yes(key+".clean-env", v.Get("clean-env"))
	t.Cached = v.Get("inputs") != nil || v.Get("outputs") != nil
	return t
}

func (m *manifest) readArg(key string, v *node) TaskArg {
	if v.Kind == tomltree.String {
		return TaskArg{Name: v.Text}
	}
	var a TaskArg
	if !m.is("each of "+key, v, tomltree.Table) {
		return a
	}
	a.Name = m.text("arg", v.Get("arg"))
	if d := v.Get("default"); d != nil {
		a.Default, a.HasDefault = m.text("default", d), true
	}
	a.Choices = m.texts("choices", v.Get("choices"))
	return a
}

func (m *manifest) readCalls(key string, v *node) []TaskCall {
	var out []TaskCall
	for _, item := range m.list(key, v) {
		out = append(out, m.readCall(key, item))
	}
	return out
}

func (m *manifest) readCall(key string, v *node) TaskCall {
	if v.Kind == tomltree.String {
		return TaskCall{Task: v.Text}
	}
	var c TaskCall
	if !m.is("each of "+key, v, tomltree.Table) {
		return c
	}
	c.Task, c.Environment = m.text("task", v.Get("task")), m.text("environment", v.Get("environment"))
	for _, item := range m.list("args", v.Get("args")) {
		if item.Kind == tomltree.Table {
			for _, e := range item.Entries {
				c.Named = append(c.Named, TaskVariable{e.Key, m.text("args."+e.Key, e.Value)})
			}
			continue
		}
		c.Args = append(c.Args, m.text("each of args", item))
	}
	return c
}

// Tasks are the tasks of an environment on a platform, each name once, in the
// manifest's order: of a name, what the strongest feature says, and of that what
// its strongest target says.
func (p *Project) Tasks(env string, on Platform) ([]*Task, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, err
	}
	var out []*Task
	seen := map[string]bool{}
	for _, f := range features {
		for _, t := range f.on(on) {
			for _, task := range t.tasks {
				if !seen[task.Name] {
					seen[task.Name] = true
					out = append(out, task)
				}
			}
		}
	}
	return out, nil
}

// Linux is the platform of an environment for a conda subdir, as activation
// takes it; one of that name alone where the manifest has none.
func (p *Project) Linux(env, subdir string) (Platform, error) {
	platforms, err := p.PlatformsOf(env)
	if err != nil {
		return Platform{}, err
	}
	for _, one := range linuxBySubdir(platforms) {
		if one.Subdir == subdir {
			return one, nil
		}
	}
	return Platform{Name: subdir, Subdir: subdir}, nil
}

// Package task composes what a task of a pixi manifest runs, without a solve.
//
// Enters: a project.Project, a task's name, its arguments and the environment.
// Leaves: a Plan: the commands of the task and of all that it depends on, in
// order, as one text for a shell.
//
// pixi runs tasks in a shell of its own, which knows a part of what sh knows with
// the same meaning: lists (&&, ||, ;), pipes, redirections, variables, command
// substitution, globs. Such a text means the same to bash in its POSIX mode
// without brace expansion, with patterns that must match (failglob) and `**` for
// any depth (globstar). What means something else, or what only pixi can do, is
// named in an error (ErrUnsupported): minijinja beyond `{{ name }}`, clean-env.
// inputs and outputs, by which pixi skips a task, are ignored with a note.
//
//	task.go      requests, plans, errors
//	order.go     dependencies, arguments
//	template.go  {{ name }}
//	shell.go     the text for the shell
package task

import (
	"errors"
	"fmt"

	"github.com/hpcenv/hpcenv/envs/project"
)

// ErrTask is the class of errors about a task that cannot be run as asked: it is
// not there, its arguments are wrong, tasks depend on each other in a circle.
var ErrTask = errors.New("the task cannot be run")

// ErrUnsupported is the class of errors about a task that only pixi can run. It
// is part of ErrTask.
var ErrUnsupported = fmt.Errorf("%w here", ErrTask)

// Request is a task to run.
type Request struct {
	Project *project.Project
	// Environment, and the conda subdir of this host.
	Environment, Subdir string
	Name                string
	// Args as given behind the name.
	Args []string
	// Self is the command line of this program up to, without, the options -e
	// ENVIRONMENT and -x: how the commands of tasks of other environments are run.
	Self []string
	// InitCwd is the working directory of the caller (INIT_CWD).
	InitCwd string
}

// Step is one task with its commands.
type Step struct {
	Task string
	// Shell is the text of the commands; "" = it only has dependencies.
	Shell string
	// Cwd is the absolute directory it runs in.
	Cwd string
	// Env are its variables; values are as between a shell's double quotes.
	Env []project.TaskVariable
	// Environment it runs in, if that is not the plan's; "" = the plan's.
	Environment string
	// background: the text starts processes that it does not wait for.
	background bool
}

// Plan is what is run, in order.
type Plan struct {
	Steps []Step
	// Notes are what the user should hear.
	Notes       []string
	initCwd     string
	self        []string
	environment string
}

// Available tells which environments have a task of a name, sorted; the default
// environment of the task, if it names one and that has it, stands alone.
func Available(p *project.Project, name, subdir string) ([]string, error) {
	var out []string
	for _, env := range p.Environments() {
		t, err := find(p, env, subdir, name)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		if t.Environment == env {
			return []string{env}, nil
		}
		out = append(out, env)
	}
	return out, nil
}

// find returns a task of an environment; nil = it has none of this name.
func find(p *project.Project, env, subdir, name string) (*project.Task, error) {
	on, err := p.Linux(env, subdir)
	if err != nil {
		return nil, err
	}
	tasks, err := p.Tasks(env, on)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if t.Name == name {
			return t, nil
		}
	}
	return nil, nil
}

package jobscript

import (
	"path"
	"strings"
)

// before are words after which a command follows.
var before = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "while": true, "until": true, "do": true, "!": true,
	"time": true, "exec": true, "command": true, "nohup": true, "env": true, "sudo": true, "eval": true, "builtin": true,
}

// launchers run a command behind options of their own.
var launchers = map[string]bool{
	"srun": true, "mpirun": true, "mpiexec": true, "timeout": true, "nice": true, "numactl": true, "stdbuf": true,
	"xargs": true, "parallel": true, "taskset": true, "prun": true, "jsrun": true, "aprun": true,
}

// managers of environments, by name.
var managers = map[string]bool{"pixi": true, "uv": true, "conda": true, "mamba": true, "micromamba": true}

// assignment: NAME=value before a command.
func assignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// advise says what is wrong with a command, if anything is.
func advise(words []string, isTask func(string) bool) (Warning, bool) {
	for len(words) > 0 && (before[words[0]] || assignment(words[0])) {
		words = words[1:]
	}
	if len(words) > 1 && launchers[path.Base(words[0])] {
		// Of a launcher's options it is not known which take a value; a manager's
		// name with one of its verbs is seen anywhere behind.
		for i := 1; i < len(words)-1; i++ {
			if managers[path.Base(words[i])] {
				if w, ok := advise(words[i:], isTask); ok {
					return w, true
				}
			}
		}
		return Warning{}, false
	}
	if len(words) < 2 {
		return Warning{}, false
	}
	name, args := path.Base(words[0]), words[1:]
	switch name {
	case "pixi":
		return pixi(args, isTask)
	case "uv":
		if verb, rest := cutOptions(args, uvValues); verb == "run" {
			command, _ := cutOptions(rest, uvValues)
			return Warning{Command: show("uv run", command), Instead: plainly(command, "uv")}, true
		}
	case "conda", "mamba", "micromamba":
		return conda(name, args)
	case "source", ".":
		return source(words[0], args)
	}
	return Warning{}, false
}

// Options of pixi and uv that take a value.
var (
	pixiValues = map[string]bool{"-e": true, "--environment": true, "--manifest-path": true, "-m": true, "--color": true, "--platform": true, "-p": true,
		"--concurrent-downloads": true, "--concurrent-solves": true, "--pinning-strategy": true, "--auth-file": true, "-w": true, "--workspace": true}
	uvValues = map[string]bool{"--extra": true, "--group": true, "--with": true, "-w": true, "--with-editable": true, "--with-requirements": true, "-p": true, "--python": true,
		"--directory": true, "--project": true, "--env-file": true, "--package": true, "--index": true, "--only-group": true, "--no-group": true, "--cache-dir": true, "-m": true, "--module": true}
	condaValues = map[string]bool{"-n": true, "--name": true, "-p": true, "--prefix": true, "--cwd": true, "-r": true, "--root-prefix": true}
)

// cutOptions returns the first word that is no option, and what follows it.
func cutOptions(args []string, values map[string]bool) (word string, rest []string) {
	for len(args) > 0 {
		switch {
		case args[0] == "--":
			args = args[1:]
			if len(args) == 0 {
				return "", nil
			}
			return args[0], args[1:]
		case !strings.HasPrefix(args[0], "-"):
			return args[0], args[1:]
		case values[args[0]] && len(args) > 1:
			args = args[2:]
		default:
			args = args[1:]
		}
	}
	return "", nil
}

// valueOf returns the value of an option, given by one of its names.
func valueOf(args []string, names ...string) string {
	for i, a := range args {
		for _, n := range names {
			if v, ok := strings.CutPrefix(a, n+"="); ok {
				return v
			}
			if a == n && i+1 < len(args) {
				return args[i+1]
			}
		}
		if a == "--" {
			break
		}
	}
	return ""
}

func show(what, more string) string {
	if more == "" {
		return what
	}
	return what + " " + more
}

// active is why an environment need not be activated.
const active = "the job's environment is active already"

func plainly(command, tool string) string {
	if command == "" {
		return "leave " + tool + " out: " + active
	}
	return "write `" + command + " …` alone: " + active
}

func pixi(args []string, isTask func(string) bool) (Warning, bool) {
	verb, rest := cutOptions(args, pixiValues)
	switch verb {
	case "run", "r":
		command, _ := cutOptions(rest, pixiValues)
		w := Warning{Command: show("pixi run", command), Instead: plainly(command, "pixi")}
		env := valueOf(rest, "-e", "--environment")
		with := ""
		if env != "" {
			with = "-e " + env + " "
		}
		switch {
		case command != "" && isTask != nil && isTask(command):
			w.Instead = "write `hpcenv run " + with + command + "`: it runs the task in the job's environment"
		case env != "":
			w.Instead = "write `hpcenv run " + with + "-- " + command + " …`, or `srun --env-name=" + env + " " + command + " …`"
		}
		return w, true
	case "shell-hook", "shell", "s":
		return Warning{Command: "pixi " + verb, Instead: "leave the line out: " + active}, true
	case "install", "i":
		return Warning{Command: "pixi install", Instead: "leave the line out, and run `hpcenv prepare` before you submit: " + active}, true
	}
	return Warning{}, false
}

func conda(name string, args []string) (Warning, bool) {
	verb, rest := cutOptions(args, condaValues)
	switch verb {
	case "activate":
		env, _ := cutOptions(rest, condaValues)
		return Warning{Command: show(name+" activate", env), Instead: "leave the line out: " + active + "; another of the lock comes with --env-name"}, true
	case "run":
		command, _ := cutOptions(rest, condaValues)
		return Warning{Command: show(name+" run", command), Instead: plainly(command, name)}, true
	}
	return Warning{}, false
}

// source: conda's own `activate`, by name alone or below an installation of it.
// A virtual environment on top of the job's environment is nobody's mistake.
func source(word string, args []string) (Warning, bool) {
	file := args[0]
	if path.Base(file) != "activate" {
		return Warning{}, false
	}
	low := strings.ToLower(file)
	if file != "activate" && !strings.Contains(low, "conda") && !strings.Contains(low, "mamba") && !strings.Contains(low, "miniforge") {
		return Warning{}, false
	}
	env := ""
	if len(args) > 1 {
		env = args[1]
	}
	return Warning{Command: show(word+" "+file, env), Instead: "leave the line out: " + active + "; another of the lock comes with --env-name"}, true
}

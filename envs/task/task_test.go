package task_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/task"
)

const manifest = `
[workspace]
name = "w"
channels = []
platforms = ["linux-64", { name = "gpu", platform = "linux-64", cuda = "12" }, "osx-64"]

[tasks]
plain = "echo plain $PWD"
words = { cmd = ["printf", "%s|", "a b", "$FOO", "it's", "*", "\"q\""], env = { FOO = "x y" } }
both = { depends-on = ["one", "two"] }
one = "echo one"
two = { cmd = "echo two", depends-on = ["one"] }
three = { cmd = "echo three", depends-on = ["one", "two", { task = "hello", args = ["there"] }] }
alias = [{ task = "hello", args = ["you", "all"] }]
hello = { cmd = "echo hello {{ who }} and {{more}}", args = ["who", { arg = "more", default = "nobody" }] }
passes = { cmd = "echo passed", args = ["x"], depends-on = [{ task = "hello", args = ["{{ x }}", { more = "no" }] }, { task = "hello", args = [{ who = "{{x}}!" }] }] }
choice = { cmd = "echo {{ c }}", args = [{ arg = "c", choices = ["a", "b"], default = "a" }] }
env = { cmd = "echo $A $B", env = { A = "$HOME/a", B = 'say "$A"' } }
cwd = { cmd = "pwd && cd .. && pwd", cwd = "sub" }
initcwd = "echo $INIT_CWD"
fails = "exit 7"
after = { cmd = "echo never", depends-on = ["fails"] }
list = "false || echo or; true && echo and | cat"
pipe = "echo to-file > out.txt 2>&1 && cat < out.txt"
both-out = "sh -c 'echo o; echo e >&2' &> both.txt && sort both.txt"
multi = """
X=1
echo $X $(echo sub)
cd sub
pwd
"""
globs = "echo *.x && echo **/*.y"
noglob = "echo before && echo *.none; echo after"
braces = "echo {a,b} 'a\\nb' \"a\\nb\""
literal = "echo '{{ not }}' {{ pixi.platform }} {{ pixi.environment.name }}"
background = "(sleep 0.1; echo late) & echo early; false"
cached = { cmd = "echo cached", inputs = ["x"], outputs = ["y"] }
clean = { cmd = "true", clean-env = true }
filter = { cmd = "echo {{ a | upper }}", args = ["a"] }
statement = { cmd = "echo {% if a %}x{% endif %}", args = ["a"] }
heredoc = "cat <<E"
quote = "echo 'x"
circle = { depends-on = ["circle2"] }
circle2 = { depends-on = ["circle"] }
gone = { depends-on = ["nothing"] }
other-env = { cmd = "echo mine", depends-on = [{ task = "plain", environment = "e", args = ["it's"] }] }
other-once = { cmd = "echo last", depends-on = ["one", { task = "in-e", environment = "e" }, { task = "in-f", environment = "f", args = [{ y = "q" }] }] }
in-e = { cmd = "echo two in {{ pixi.environment.name }}", args = [], depends-on = [{ task = "one", environment = "default" }] }
in-f = { cmd = "echo end in {{ pixi.environment.name }} {{ x }} {{ y }}", args = [{ arg = "x", default = "p" }, "y"], depends-on = [{ task = "in-e", environment = "e" }] }
round = { cmd = "echo r", depends-on = [{ task = "round2", environment = "e" }] }
round2 = { cmd = "echo r2", depends-on = [{ task = "round", environment = "default" }] }
astray = { depends-on = [{ task = "ls", environment = "e" }] }
backslash = "echo a\\ b \\$HOME"
badname = { cmd = "true", env = { "A-B" = "x" } }
which = "echo feature default"
comment = "echo x # not this"

[target.linux-64.tasks]
onlinux = "echo linux"
[target.gpu.tasks]
which = "echo never"
[target.osx-64.tasks]
which = "echo never"

[feature.f.tasks]
which = "echo feature f"
only = { cmd = "echo only", default-environment = "f" }
twice = "echo twice"
[feature.f.target.unix.tasks]
target = "echo target"

[environments]
e = []
f = ["f"]
g = ["f"]
`

func load(t *testing.T) *project.Project {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{"pixi.toml": manifest, "b.x": "", "a.x": "", "sub/deep/c.y": "", "d.y": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(p *project.Project, name string, args ...string) task.Request {
	return task.Request{Project: p, Environment: "default", Subdir: "linux-64", Name: name, Args: args, Self: []string{"bash", "-c", `echo "$1 $2 $3 $4"; shift 4; exec "$@"`, "self"}, InitCwd: "/the start"}
}

// Every task does what its text says, with the exit code of what failed.
func TestRun(t *testing.T) {
	p := load(t)
	for _, c := range []struct {
		call string
		want string
		code int
	}{
		{"plain", "plain ROOT\n", 0},
		{"plain more 'a b' $X", "plain ROOT more 'a b' $X\n", 0}, // four arguments
		{"words", `a b|x y|it's|*|"q"|`, 0},
		{"both", "one\ntwo\n", 0},
		{"three", "one\ntwo\nhello there and nobody\nthree\n", 0},
		{"alias", "hello you and all\n", 0},
		{"hello x y", "hello x and y\n", 0},
		{"passes p", "hello p and no\nhello p! and nobody\npassed\n", 0},
		{"choice", "a\n", 0},
		{"choice b", "b\n", 0},
		{"env", "/home/a say \"/home/a\"\n", 0},
		{"cwd", "ROOT/sub\nROOT\n", 0},
		{"initcwd", "/the start\n", 0},
		{"fails", "", 7},
		{"after", "", 7},
		{"list", "or\nand\n", 0},
		{"pipe", "to-file\n", 0},
		{"both-out", "e\no\n", 0},
		{"multi", "1 sub\nROOT/sub\n", 0},
		{"globs", "a.x b.x\nd.y sub/deep/c.y\n", 0},
		{"noglob", "before\n", 1},
		{"braces", "{a,b} a\\nb a\\nb\n", 0},
		{"literal", "{{ not }} linux-64 default\n", 0},
		{"background", "early\nlate\n", 1},
		{"cached", "cached\n", 0},
		{"other-env", "-e e -x --\nplain ROOT it's\nmine\n", 0},
		{"other-once", "one\n-e e -x --\ntwo in e\n-e f -x --\nend in f p q\nlast\n", 0},
		{"backslash", "a b $HOME\n", 0},
		{"which", "feature default\n", 0},
		{"onlinux", "linux\n", 0},
		{"comment", "x\n", 0},
	} {
		t.Run(c.call, func(t *testing.T) {
			words := strings.Fields(c.call)
			plan, err := task.Compose(request(p, words[0], words[1:]...))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(task.Shell[0], append(task.Shell[1:], plan.Script())...)
			cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/home", "BASH_ENV=/nonexistent/x", "LC_ALL=C"}
			var out, trouble bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &trouble
			err = cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(c.want, "ROOT", p.Root)
			if out.String() != want || cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("exit %d, %q; want %d, %q\n%s\n%s", cmd.ProcessState.ExitCode(), out.String(), c.code, want, trouble.String(), plan.Script())
			}
			for _, s := range plan.Steps {
				if c.code == 0 && !strings.Contains(trouble.String(), "hpcenv: task "+s.Task+": ") {
					t.Errorf("step %s is not told: %s", s.Task, trouble.String())
				}
			}
			if (c.call == "cached") != (len(plan.Notes) > 0) {
				t.Errorf("notes: %v", plan.Notes)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	p := load(t)
	for call, c := range map[string]struct {
		class error
		says  []string
	}{
		"clean":       {task.ErrUnsupported, []string{"clean-env", "pixi run clean"}},
		"filter x":    {task.ErrUnsupported, []string{"a | upper"}},
		"statement x": {task.ErrUnsupported, []string{"{%"}},
		"heredoc":     {task.ErrUnsupported, []string{"here-document"}},
		"quote":       {task.ErrUnsupported, []string{"never closed"}},
		"circle":      {task.ErrTask, []string{"circle, circle2, circle"}},
		"round":       {task.ErrTask, []string{"round, round2 (environment e), round depend on each other in a circle"}},
		"astray":      {task.ErrTask, []string{`environment e has no task "ls", on which astray depends`}},
		"gone":        {task.ErrTask, []string{`no task "nothing", on which gone depends`, "hpcenv run --list"}},
		"no-such":     {task.ErrTask, []string{`no task "no-such"`}},
		"hello":       {task.ErrTask, []string{"needs the argument who", "next: hpcenv run hello WHO [MORE]"}},
		"hello a b c": {task.ErrTask, []string{"takes 2 arguments, 3 are given"}},
		"choice c":    {task.ErrTask, []string{"one of a, b"}},
		"both more":   {task.ErrTask, []string{"no command that could take arguments"}},
		"badname":     {task.ErrTask, []string{"A-B"}},
		"only":        {task.ErrTask, []string{"environment default has no task"}},
	} {
		words := strings.Fields(call)
		_, err := task.Compose(request(p, words[0], words[1:]...))
		if !errors.Is(err, c.class) || !errors.Is(err, task.ErrTask) {
			t.Errorf("%s: %v", call, err)
			continue
		}
		for _, part := range append(c.says, "next: ") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s lacks %q: %v", call, part, err)
			}
		}
	}
}

func TestAvailable(t *testing.T) {
	p := load(t)
	for name, want := range map[string]string{"plain": "default e f g", "twice": "f g", "only": "f", "target": "f g", "nothing": ""} {
		got, err := task.Available(p, name, "linux-64")
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, want)
		}
	}
	r := request(p, "which")
	r.Environment = "f"
	plan, err := task.Compose(r)
	if err != nil || plan.Steps[0].Shell != "echo feature f" {
		t.Errorf("%+v, %v", plan, err)
	}
}

// FuzzCompose: any command is composed or refused, never more.
func FuzzCompose(f *testing.F) {
	f.Add("echo {{ a }} 'x' \"y\" & z", "v")
	f.Fuzz(func(t *testing.T, command, value string) {
		dir := t.TempDir()
		text := "[tasks]\nx = { cmd = " + tomlString(command) + ", args = [\"a\"] }\n"
		if err := os.WriteFile(filepath.Join(dir, "pixi.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := project.Load(dir)
		if err != nil {
			return
		}
		plan, err := task.Compose(request(p, "x", value))
		if err != nil {
			if !errors.Is(err, task.ErrTask) {
				t.Fatal(err)
			}
			return
		}
		if plan.Script() == "" {
			t.Fatal("nothing to run")
		}
	})
}

func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

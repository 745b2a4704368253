package activation

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// shellCommand runs code read as eval does it: the text goes through a
// variable or a file, never through our own quoting.
var shellArgs = map[string][]string{
	"bash": {"--noprofile", "--norc", "-c", `eval "$CODE"; unset CODE; exec /usr/bin/env -0`},
	"sh":   {"-c", `eval "$CODE"; unset CODE; exec /usr/bin/env -0`},
	"dash": {"-c", `eval "$CODE"; unset CODE; exec /usr/bin/env -0`},
	"zsh":  {"-f", "-c", `eval "$CODE"; unset CODE; exec /usr/bin/env -0`},
	"fish": {"--no-config", "-c", `eval "$CODE"; set -e CODE; exec /usr/bin/env -0`},
	"tcsh": {"-f", "-c", ""}, // by file, below
}

func evalIn(t *testing.T, shell, code string, env []string) []string {
	t.Helper()
	bin, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("SHELL ABSENT: %s is not installed; its rendering is not tested here", shell)
	}
	args := shellArgs[shell]
	if shell == "tcsh" {
		dir := t.TempDir()
		write(t, dir, map[string]string{"x": code + "\n/usr/bin/env -0\n"})
		args = []string{"-f", dir + "/x"}
	} else {
		env = append(append([]string(nil), env...), "CODE="+code)
	}
	cmd := exec.Command(bin, args...)
	cmd.Env = env
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil || errOut.Len() > 0 {
		t.Fatalf("%s: %v %s\ncode:\n%s", shell, err, errOut.String(), code)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestRenderEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "sh", "dash", "zsh", "fish", "tcsh"} {
		t.Run(shell, func(t *testing.T) {
			env := []string{"LC_ALL=C.UTF-8", "HOME=/h", "PATH=/usr/bin:/bin", "GONE=x", "L1=old *", "L2=", "S2=a"}
			p := Patch{Ops: []Op{
				{Kind: OpUnset, Name: "GONE"}, {Kind: OpUnset, Name: "NEVER_THERE"},
				{Kind: OpPrepend, Name: "PATH", Value: "/p q/bin", Sep: ":"}, {Kind: OpAppend, Name: "PATH", Value: "/z", Sep: ":"},
				{Kind: OpPrepend, Name: "L1", Value: "a'b", Sep: ":"}, {Kind: OpAppend, Name: "L2", Value: "$x", Sep: ":"},
				{Kind: OpPrepend, Name: "L3", Value: "new", Sep: ":"}, {Kind: OpAppend, Name: "S2", Value: "b", Sep: " "},
			}}
			for i, v := range nasty {
				if (shell == "fish" || shell == "tcsh") && !validUTF8(v) {
					continue // These shells decode their input.
				}
				p.Ops = append(p.Ops, Op{Kind: OpSet, Name: "V" + string(rune('A'+i/26)) + string(rune('A'+i%26)), Value: v})
			}
			code, err := Render(shell, p)
			if err != nil {
				t.Fatal(err)
			}
			got := evalIn(t, shell, code, env)
			want, err := Apply(env, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range p.Ops {
				if w, ok := lookup(want, op.Name); ok {
					wantVar(t, got, op.Name, w)
				} else {
					wantUnset(t, got, op.Name)
				}
			}
		})
	}
}

func validUTF8(s string) bool { return strings.ToValidUTF8(s, "") == s }

func TestRenderRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		shell string
		op    Op
	}{
		"unknown shell": {"powershell", Op{Kind: OpSet, Name: "A"}},
		"bad name":      {"bash", Op{Kind: OpSet, Name: "A;id", Value: "x"}},
		"function":      {"bash", Op{Kind: OpSet, Name: "BASH_FUNC_x%%", Value: "x"}},
		"not computed":  {"bash", Op{Kind: OpSet, Name: "A", Value: "$B", Expand: true}},
		"unknown op":    {"bash", Op{Kind: "move", Name: "A"}},
	} {
		if out, err := Render(c.shell, Patch{Ops: []Op{c.op}}); !errors.Is(err, ErrShell) || out != "" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

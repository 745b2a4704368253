package scope

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadings(t *testing.T) {
	for command, want := range map[string]string{
		"sbatch":        "[]",
		"sbatch x -p y": "[] x -p y",
		"sbatch -p a -pb --partition c --pars=d x": "[partition=a partition=b partition=c parsable=d] x",
		"sbatch --part=d - x":                      "[partition=d] - x",
		"sbatch -HQN2 -n -1 -- -p x":               "[hold= quiet= nodes=2 ntasks=-1] -p x",
		"sbatch -kfoo -k foo":                      "[no-kill=foo no-kill=] foo",
		"sbatch --tasks-per-node=3 --cluster=c":    "[ntasks-per-node=3 clusters=c]",
		"sbatch --cluster c":                       "[clusters=c]",
		"sbatch --clusters-x":                      "[]",
		"sbatch --env-lock . x":                    "[env-lock=.] x",
		"sbatch --env-l=. x":                       "[env-lock=.] x",
		"sbatch --foo=1 -p a":                      "[partition=a]",
		"sbatch --foo -p a":                        "[partition=a]|[] a",
		"sbatch -p":                                "[] ! -p without its argument",
		"sbatch --part":                            "[] ! --part without its argument",
		"sbatch --p a":                             "[] ! --p may stand for --parsable or --partition",
		"sbatch -l a":                              "[] ! the option -l is not known",
		"srun -l -W3 -K1 a":                        "[label= wait=3 kill-on-bad-exit=1] a",
		"salloc --no-shell":                        "[no-shell=]",
	} {
		words := strings.Fields(command)
		var got []string
		for _, r := range readings(words[0], words[1:]) {
			var set []string
			for _, s := range r.settings {
				set = append(set, s.option+"="+s.value)
			}
			text := fmt.Sprintf("%v %s", set, strings.Join(r.rest, " "))
			if r.doubt != "" {
				text += "! " + r.doubt
			}
			got = append(got, strings.TrimSpace(text))
		}
		if d := cmp.Diff(want, strings.Join(got, "|")); d != "" {
			t.Errorf("%s: %s", command, d)
		}
	}
	many := strings.Fields("--qa x --qb x --qc x --qd x --qe x --qf x")
	if rs := readings("sbatch", many); !slices.ContainsFunc(rs, func(r reading) bool { return strings.Contains(r.doubt, "too many") }) || len(rs) > 32 {
		t.Errorf("%d readings of %q", len(rs), many)
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string]string{
		"":                        "[]",
		"-p gpu\t--x='a b'\r":     `["-p" "gpu" "--x=a b"]`,
		`-J a\ b "c\"d" e#f`:      `["-J" "a b" "c\"d" "e"]`,
		"-p gpu # -p cpu":         `["-p" "gpu"]`,
		`-p "gpu" '#' \# "" -x n`: `["-p" "gpu" "#" "#"]`,
		`-p gpu\`:                 `["-p" "gpu"]`,
	} {
		got, err := split(line)
		if text := fmt.Sprintf("%q", got); err != nil || text != want {
			t.Errorf("%q: %s %v, want %s", line, text, err, want)
		}
	}
	if _, err := split(`-p "gpu`); err == nil {
		t.Error("an open quote is taken")
	}
}

// TestTable asks the commands themselves, where they are installed, which options they
// know and which take an argument. (This release's alone; it may lack newer ones.)
func TestTable(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	if err := os.WriteFile(conf, []byte("ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	say := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "SLURM_CONF="+conf, "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out)
	}
	for program, bit := range programBit {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: its options are not compared", program)
		}
		compared := 0
		for _, o := range options {
			if strings.HasPrefix(o.name, "env-") {
				continue // hpcenv's own, in its plugin
			}
			// The first mistake ends the program: a second one is there for what is none.
			out := say(program, "--"+o.name+"=", "--no-such-option")
			if strings.Contains(out, "unrecognized option '--"+o.name) || strings.Contains(out, "is ambiguous") && o.programs&bit == 0 {
				if o.programs&bit != 0 && !newer[o.name] {
					t.Errorf("%s does not know --%s", program, o.name)
				}
				continue
			}
			if strings.Contains(out, "doesn't allow an argument") != (o.argument == none) && o.programs&bit != 0 && !strings.Contains(o.name, "help") {
				t.Errorf("%s --%s takes an argument: %v, it says %q", program, o.name, o.argument != none, out)
			}
			if o.programs&bit == 0 {
				if !strings.Contains(out, "ambiguous") {
					t.Logf("%s knows --%s, or something that begins so", program, o.name)
				}
				continue
			}
			compared++
			// As the last word it would be run if it needed no argument.
			if o.argument == required && !strings.Contains(say(program, "--"+o.name), "requires an argument") {
				t.Errorf("%s --%s requires no argument", program, o.name)
			}
			if o.argument == optional && !strings.Contains(say(program, "--"+o.name, "--no-such-option"), "unrecognized option '--no-such-option'") {
				t.Errorf("%s --%s takes the next word", program, o.name)
			}
		}
		if compared < 80 {
			t.Errorf("only %d options of %s were compared", compared, program)
		}
	}
}

// newer options than the oldest release has.
var newer = map[string]bool{
	"autocomplete": true, "container-id": true, "external-launcher": true, "extra": true, "oom-kill-step": true, "segment": true, "stepmgr": true,
	"treewidth": true, "tres-bind": true, "tres-per-task": true, "export-file": true, "power": true, "gid": true, "uid": true, "resv-ports": true,
}

// FuzzOf: whatever is written, there is an answer, and never an empty one.
func FuzzOf(f *testing.F) {
	for _, s := range []string{
		"sbatch -p gpu -w g[1-2] plain", "sbatch --foo -C [a|b]&c --gres=gpu:2,x -N1-2k : -x g1 plain", "srun -n2 a : -p cpu b",
		"sbatch --wrap=x\n#SBATCH -p 'gpu\n#SBATCH hetjob -C a*2",
	} {
		f.Add(s, "#!/bin/sh\n#SBATCH -p gpu\n#SBATCH hetjob\n#SBATCH \"-x g1\" # c\n", 0)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, command, script string, component int) {
		words := strings.Split(command, " ")
		if component < 0 || component > 8 {
			component = 0
		}
		if err := os.WriteFile(filepath.Join(dir, "plain"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		s := Of(Submission{Program: words[0], Args: words, Dir: dir, Component: component}, site())
		if len(s.Nodes) == 0 || s.Exact != (len(s.Why) == 0) || s.Exact && s.Every {
			t.Fatalf("%q: %+v", command, s)
		}
	})
}

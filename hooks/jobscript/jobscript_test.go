package jobscript

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScan(t *testing.T) {
	const script = `#!/bin/bash
#SBATCH --env-lock=. # pixi run in a comment
module load gcc
pixi run train --epochs 3
srun -n 4 --mpi=pmix pixi run -e gex python x.py
eval "$(pixi shell-hook -e default)"
if ! conda activate base; then
  source activate base
fi
FOO=1 exec uv run --extra gpu python y.py
cat <<EOF
pixi run not-this
EOF
cat <<-'END'
	conda activate not-this
	END
echo "pixi run not-this" 'conda activate no'
echo conda activate
. /opt/miniforge3/bin/activate env
source .venv/bin/activate
micromamba run -n env python z.py && mamba activate b
(cd sub; micromamba activate c) || true
for i in 1 2; do pixi run \
  test; done
x=$(uv run python -c 'print(1)')
time "$HOME/.pixi/bin/pixi" run python
pixi install --locked
pixi info
uv pip list
conda list
hpcenv run train
mpirun -np 2 python pixi.py
a=` + "`pixi run test`" + `
`
	isTask := func(s string) bool { return s == "train" || s == "test" }
	var got []string
	for _, w := range Scan([]byte(script), isTask) {
		got = append(got, w.Text("job.sh"))
	}
	const plain = ": the job's environment is active already"
	const another = "; another of the lock comes with --env-name"
	want := []string{
		"job.sh:4: `pixi run train`: write `hpcenv run train`: it runs the task in the job's environment",
		"job.sh:5: `pixi run python`: write `hpcenv run -e gex -- python …`, or `srun --env-name=gex python …`",
		"job.sh:6: `pixi shell-hook`: leave the line out" + plain,
		"job.sh:7: `conda activate base`: leave the line out" + plain + another,
		"job.sh:8: `source activate base`: leave the line out" + plain + another,
		"job.sh:10: `uv run python`: write `python …` alone" + plain,
		"job.sh:19: `. /opt/miniforge3/bin/activate env`: leave the line out" + plain + another,
		"job.sh:21: `micromamba run python`: write `python …` alone" + plain,
		"job.sh:21: `mamba activate b`: leave the line out" + plain + another,
		"job.sh:22: `micromamba activate c`: leave the line out" + plain + another,
		"job.sh:23: `pixi run test`: write `hpcenv run test`: it runs the task in the job's environment",
		"job.sh:25: `uv run python`: write `python …` alone" + plain,
		"job.sh:26: `pixi run python`: write `python …` alone" + plain,
		"job.sh:27: `pixi install`: leave the line out, and run `hpcenv prepare` before you submit" + plain,
		"job.sh:33: `pixi run test`: write `hpcenv run test`: it runs the task in the job's environment",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTextIsOneLine(t *testing.T) {
	w := Scan([]byte("#!/bin/sh\npixi run 'a\nb\x1b[1m'\n"), nil)
	if len(w) != 1 || strings.ContainsAny(w[0].Text("job\x07.sh"), "\n\x1b\x07") {
		t.Errorf("%+v", w)
	}
}

func TestScanOtherLanguages(t *testing.T) {
	if w := Scan([]byte("#!/usr/bin/env python\npixi run x\n"), nil); w != nil {
		t.Errorf("%v", w)
	}
	if w := Scan([]byte("#!/bin/tcsh\npixi run x\n"), nil); len(w) != 1 {
		t.Errorf("%v", w)
	}
	if w := Scan(nil, nil); w != nil {
		t.Errorf("%v", w)
	}
}

func TestPath(t *testing.T) {
	for line, want := range map[string]string{
		"sbatch job.sh":                                 "job.sh",
		"sbatch --env-lock=. job.sh a b":                "job.sh",
		"sbatch --env-lock . -N 2 -n4 job.sh":           "job.sh",
		"sbatch -HN2 --hold --exclusive --wait job.sh":  "job.sh",
		"sbatch -HN 2 job.sh":                           "job.sh",
		"sbatch --wrap=x":                               "",
		"sbatch --wrap x":                               "",
		"sbatch":                                        "",
		"sbatch -W":                                     "",
		"sbatch --dependency afterok:1 -p all -- -x.sh": "-x.sh",
		"sbatch -N1 : -N2 job.sh":                       "job.sh",
		"sbatch --parsable --array=1-3 dir/job.sh":      "dir/job.sh",
	} {
		if got := Path(strings.Fields(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{filepath.Join(dir, "a"): "here", filepath.Join(bin, "b"): "there"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for script, want := range map[string]string{"a": "here", "./a": "here", filepath.Join(dir, "a"): "here", "b": "there", "./b": "", "c": "", "/dev/zero": "", dir: ""} {
		if got := string(Read(script, dir, "/nonexistent:"+bin)); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	args, err := Arguments(os.Getpid())
	if err != nil || len(args) == 0 || filepath.Base(args[0]) != filepath.Base(os.Args[0]) {
		t.Errorf("%q, %v", args, err)
	}
}

// FuzzScan: any script is read to its end, and warnings name its lines.
func FuzzScan(f *testing.F) {
	f.Add("pixi run a; `conda activate \"$(uv run x)\"`\ncat <<-'E'\n\tE\n")
	f.Add("a=$( ( (uv run b) ) ) \\\n<<<x ${y} 'z\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		for _, w := range Scan([]byte(text), nil) {
			if w.Line < 1 || w.Line > lines || w.Command == "" || w.Instead == "" {
				t.Fatalf("%q: %+v of %d lines", text, w, lines)
			}
		}
	})
}

// What quotes, here-documents and arithmetic hide is not commands, and what stands
// behind them is.
func TestScanBehindOddSyntax(t *testing.T) {
	for script, want := range map[string]string{
		"echo $'it\\'s' \"a'b\"; pixi run a\n":                                "1",
		"echo $'a\nb\\\nc'\npixi run a\n":                                     "4",
		"((y=1<<3)) && pixi run a\npixi run b\n":                              "1 2",
		"x=$((1<<2))\npixi run a\n":                                           "2",
		"for ((i=1; i<(2<<1); i++)); do pixi run a; done\npixi run b\n":       "1 2",
		"((cd x; pixi run a); pixi run b)\n":                                  "1 1",
		"cat <<-'E F'\n\tpixi run not\n\tE F\npixi run a\n":                   "4",
		"cat <<\"E\" >x; pixi run a\npixi run not\nE\npixi run b\n":           "1 4",
		"cat <<A <<B\npixi run not\nA\npixi run not\nB\npixi run a\n":         "6",
		"cat <<''\npixi run not\n\npixi run a\n":                              "4",
		"cat <<E\r\npixi run not\r\nE\r\npixi run a\r\n":                      "4",
		"#!/shared/python/bin/python3\npixi run not\n":                        "",
		"#!/share/R/bin/Rscript --vanilla\npixi run not\n":                    "",
		"#!/usr/bin/env -S bash -e\npixi run a\n":                             "2",
		"#! /bin/sh\npixi run a\n":                                            "2",
		"#!/usr/bin/env -S LANG=C zsh -f\npixi run a\n":                       "2",
		"echo ${#a[@]} $#; pixi run a # pixi run not\n# pixi run not\n((1<<2": "1",
	} {
		var lines []string
		for _, w := range Scan([]byte(script), nil) {
			lines = append(lines, strconv.Itoa(w.Line))
		}
		if got := strings.Join(lines, " "); got != want {
			t.Errorf("%q: lines %q, want %q", script, got, want)
		}
	}
}

// A script as long as Slurm takes costs little more than one of usual length.
func TestOnlyTheBeginningOfALongScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.sh")
	text := "#!/bin/bash\npixi run a\n" + strings.Repeat("pixi run b;", 300<<10)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	data := Read(file, "/", "")
	if len(data) > 1<<20 || !strings.HasPrefix(text, string(data)) || len(Scan(data, nil)) != 2 {
		t.Errorf("%d bytes, %d warnings", len(data), len(Scan(data, nil)))
	}
}

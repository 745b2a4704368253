package helper

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/jobscript"
)

// maxAdvice bounds the warnings about one script.
const maxAdvice = 10

// adviseScript warns about lines of sbatch's script that would activate or make
// another environment than the one that the job gets. This process's parent is
// sbatch. Whatever is not known gives no warning.
func (s *submission) adviseScript(w *wanted) {
	if s.context != "sbatch" || s.step || s.component != 0 {
		return
	}
	argv, err := jobscript.Arguments(os.Getppid())
	if err != nil {
		return
	}
	script := jobscript.Path(argv)
	dir, err := os.Getwd()
	if script == "" || err != nil {
		return
	}
	warnings := jobscript.Scan(jobscript.Read(script, dir, os.Getenv("PATH")), w.isTask())
	for i, warning := range warnings {
		if i == maxAdvice {
			fmt.Fprintf(s.stderr, "sbatch: hpcenv: %s: %d more lines like these\n", filepath.Base(script), len(warnings)-i)
			return
		}
		fmt.Fprintf(s.stderr, "sbatch: hpcenv: %s\n", warning.Text(filepath.Base(script)))
	}
}

// isTask tells which names are tasks of the wanted environment.
func (w *wanted) isTask() func(string) bool {
	if w.project == nil {
		return nil
	}
	on, err := w.project.Linux(cmp.Or(w.name, "default"), hostPlatform())
	if err != nil {
		return nil
	}
	tasks, err := w.project.Tasks(cmp.Or(w.name, "default"), on)
	if err != nil {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(tasks, func(t *project.Task) bool { return t.Name == name })
	}
}

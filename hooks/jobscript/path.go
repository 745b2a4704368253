package jobscript

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/slurm/scope"
)

// Path tells which argument of sbatch is the script, argv[0] included; "" = there
// is none (standard input, --wrap), or the arguments are not understood.
func Path(argv []string) string { return scope.Script(argv) }

// maxScript bounds the bytes of a script that are looked at. Slurm takes 4 MiB, but
// what is so long is data behind the commands, and sbatch waits for the answer.
const maxScript = 256 << 10

// Read finds a script as sbatch does (in the directory dir, else in PATH) and
// reads it. What is no regular file, or cannot be read, gives nil: sbatch itself
// complains.
func Read(script, dir, pathList string) []byte {
	candidates := []string{script}
	if !filepath.IsAbs(script) {
		candidates[0] = filepath.Join(dir, script)
	}
	if !strings.Contains(script, "/") {
		for _, p := range filepath.SplitList(pathList) {
			candidates = append(candidates, filepath.Join(p, script))
		}
	}
	for _, file := range candidates {
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		f, err := os.Open(file)
		if err != nil {
			return nil
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxScript))
		if err != nil {
			return nil
		}
		return data
	}
	return nil
}

// Arguments are those of a process, as the kernel has them.
func Arguments(pid int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"), nil
}

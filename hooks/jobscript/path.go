package jobscript

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// flags are sbatch's long options without a value, or with one behind "=" only;
// all others take the next argument if they have no "=".
var flags = map[string]bool{
	"contiguous": true, "exclusive": true, "get-user-env": true, "help": true, "hold": true, "ignore-pbs": true, "nice": true, "no-kill": true,
	"no-requeue": true, "overcommit": true, "oversubscribe": true, "parsable": true, "propagate": true, "quiet": true, "reboot": true, "requeue": true,
	"share": true, "spread-job": true, "stepmgr": true, "test-only": true, "usage": true, "use-min-nodes": true, "verbose": true, "version": true,
	"wait": true, "disable-stdout-job-summary": true,
}

// shortFlags are sbatch's short options without a value.
const shortFlags = "HIQOVWhksvuKZE"

// Path tells which argument of sbatch is the script, argv[0] included; "" = there
// is none (standard input, --wrap), or the arguments are not understood.
func Path(argv []string) string {
	for i := 1; i < len(argv); i++ {
		a := argv[i]
		switch {
		case a == "--":
			if i+1 < len(argv) {
				return argv[i+1]
			}
			return ""
		case strings.HasPrefix(a, "--"):
			name, _, has := strings.Cut(a[2:], "=")
			if name == "wrap" {
				return ""
			}
			if !has && !flags[name] {
				i++
			}
		case a == ":": // the next component of a heterogeneous job
		case strings.HasPrefix(a, "-") && len(a) > 1:
			for j := 1; j < len(a); j++ {
				if strings.IndexByte(shortFlags, a[j]) >= 0 {
					continue
				}
				if j == len(a)-1 {
					i++ // its value is the next argument
				}
				break
			}
		default:
			return a
		}
	}
	return ""
}

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

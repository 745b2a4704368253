package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bind shows a directory or file of this host in the sandbox.
type Bind struct {
	// From is a path of this host, At where it appears; both absolute.
	From, At string
	// Write: what runs may write to it.
	Write bool
}

// Spec is what runs and what it sees.
type Spec struct {
	Argv []string
	// Dir to start in; "" = /.
	Dir string
	// Env: all its variables ("NAME=value").
	Env   []string
	Binds []Bind
	// Fork: it may start processes.
	Fork bool
	// System: it has /bin, /sbin, /dev (null, zero, random, …) and, where this host
	// allows it, /proc.
	System bool
	Limits Limits
}

// Limits bound one run. They are the kernel's (setrlimit) and hold from the
// first instruction on.
type Limits struct {
	// Processes at one time, threads included; only where Spec.Fork is set. For
	// root the kernel does not count: the caller must.
	Processes int
	// Memory is the address space of each process, in bytes.
	Memory int64
	// FileBytes is the size of a file that is written; 0 = nothing is written.
	FileBytes int64
	OpenFiles int
	// CPU is the processor time of each process.
	CPU time.Duration
}

// args are the limits for prlimit.
func (l Limits) args(fork bool) []string {
	n := func(what string, v int64) string { return fmt.Sprintf("--%s=%d:%d", what, v, v) }
	args := []string{
		n("core", 0), n("fsize", l.FileBytes), n("nofile", int64(l.OpenFiles)), n("cpu", max(1, int64(l.CPU/time.Second))), n("as", l.Memory),
	}
	if fork {
		// The kernel counts all that this account runs, this program included.
		args = append(args, n("nproc", int64(l.Processes+processesOf(os.Geteuid()))))
	}
	return args
}

// processesOf counts the processes and threads of an account, as far as this
// process may see them.
func processesOf(uid int) int {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	total := 0
	for _, d := range dirs {
		if _, err := strconv.Atoi(d.Name()); err != nil {
			continue
		}
		st, err := os.Stat("/proc/" + d.Name())
		if err != nil {
			continue // it ended
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != uid {
			continue
		}
		tasks, err := os.ReadFile("/proc/" + d.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name, in parentheses, may hold anything; the count of threads is the
		// 18th field after it.
		if f := strings.Fields(string(tasks[strings.LastIndexByte(string(tasks), ')')+1:])); len(f) > 17 {
			n, err := strconv.Atoi(f[17])
			if err == nil {
				total += n
			}
		}
	}
	return total
}

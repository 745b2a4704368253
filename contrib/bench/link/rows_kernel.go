package main

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/internal/figure"
)

func changeTime(st fs.FileInfo) time.Time {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(sys.Ctim.Unix())
}

// fileCalls are the system calls that may go to the store. Some of them (read,
// write, close, fcntl) also serve the runtime and the network: they count too.
var fileCalls = map[string]bool{
	"linkat": true, "mkdirat": true, "mknodat": true, "symlinkat": true, "unlinkat": true, "renameat": true, "renameat2": true,
	"openat": true, "close": true, "read": true, "pread64": true, "write": true, "pwrite64": true, "lseek": true, "ftruncate": true,
	"copy_file_range": true, "sendfile": true, "getdents64": true, "fcntl": true, "flock": true, "ioctl": true,
	"fstat": true, "newfstatat": true, "statx": true, "statfs": true, "fstatfs": true, "readlinkat": true, "faccessat": true, "faccessat2": true,
	"fchmod": true, "fchmodat": true, "fchown": true, "fchownat": true, "utimensat": true, "fsync": true, "syncfs": true,
}

// syscalls: what the kernel is asked per linked file. The target is about files
// that are linked and their directories, so the tree holds nothing else; the
// number for the whole stack, whose empty and patched files are made, stands
// beside it.
func (b *world) syscalls(ctx context.Context) error {
	if err := look("strace"); err != nil {
		return err
	}
	plain := "plain"
	if b.o.tiny {
		plain = "tinyplain"
	}
	fill := b.environmentOf(plain, b.plain.Packages)
	if _, err := b.ours(ctx, b.path("plain-store"), fill, "-volatile"); err != nil {
		return err
	}
	calls, files, top, err := b.count(ctx, b.path("plain-store"), b.environmentOf(plain, b.plain.Packages))
	if err != nil {
		return err
	}
	all, allFiles, allTop, err := b.count(ctx, b.base, b.environment())
	if err != nil {
		return err
	}
	b.line("system calls per linked file", fmt.Sprintf("%.3f", float64(calls)/float64(files)), top)
	b.line("system calls per file, whole stack", fmt.Sprintf("%.3f", float64(all)/float64(allFiles)), allTop)
	b.report.AtMost("link.syscalls.per_linked_file", float64(calls)/float64(files), "calls", 1.25)
	b.report.Note("link.syscalls.per_file_whole_stack", float64(all)/float64(allFiles), "calls")
	return b.remove(b.path("plain-store"))
}

// count prepares e under strace and returns the calls on files, the files made,
// and the most frequent calls.
func (b *world) count(ctx context.Context, store string, e env) (calls, files int, top string, err error) {
	lock, err := e.writeLock(b.path("locks"))
	if err != nil {
		return 0, 0, "", err
	}
	out := b.path("strace")
	var t turn
	if _, err := b.command(ctx, &t, "strace", "-f", "-c", "-S", "calls", "-o", out, "-e", "trace=all",
		b.self, "child", "-store", store, "-lock", lock); err != nil {
		return 0, 0, "", err
	}
	f, err := os.Open(out)
	if err != nil {
		return 0, 0, "", err
	}
	defer f.Close() // only read
	var names []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if len(field) < 5 || !fileCalls[field[len(field)-1]] {
			continue
		}
		n, err := strconv.Atoi(field[3])
		if err != nil {
			continue // a heading
		}
		calls += n
		names = append(names, fmt.Sprintf("%s %d", field[len(field)-1], n))
	}
	files = len(e.packages) // their records
	for _, p := range e.packages {
		files += p.Files
	}
	return calls, files, strings.Join(names[:min(len(names), 8)], ", "), nil
}

// parallel: many processes, each with its own environment, on one store. Each
// environment is a small part of the stack, as jobs of many users are.
//
// A process works on all CPUs, so one after the other leave little idle: what
// waiting for one another would cost shows where each has a CPU to itself. That
// is the figure; without the restriction stands beside it.
func (b *world) parallel(ctx context.Context) error {
	if err := look("taskset"); err != nil {
		return err
	}
	const processes = 32
	for _, c := range []struct {
		what  string
		cpus  int
		judge func(ratio float64)
	}{
		{"each on one CPU", runtime.NumCPU(), func(r float64) { b.report.AtLeast("link.parallel.throughput", r, "ratio", 1.6) }},
		{"each on all CPUs", 0, func(r float64) { b.report.Note("link.parallel.throughput_all_cpus", r, "ratio") }},
	} {
		var serial, together []time.Duration
		for range b.o.runs {
			one, err := b.oneAfterTheOther(ctx, processes, c.cpus)
			if err != nil {
				return err
			}
			all, err := b.atOnce(ctx, processes, c.cpus)
			if err != nil {
				return err
			}
			serial, together = append(serial, one), append(together, all)
		}
		b.line("32 environments, one after the other", seconds(figure.Median(serial)), c.what+", durable")
		b.line("32 environments, 32 processes at once", seconds(figure.Median(together)), c.what+"; none failed")
		c.judge(ratio(serial, together))
	}
	return nil
}

// some is an environment of half of the stack's packages.
func (b *world) some() env {
	return b.environmentOf(b.spec.Name, append(b.main.Packages[:1:1], b.main.Packages[len(b.main.Packages)/2:]...))
}

func (b *world) oneAfterTheOther(ctx context.Context, n, cpus int) (time.Duration, error) {
	b.settle()
	var trees []string
	start := time.Now()
	for i := range n {
		t, err := b.alone(i, cpus).ours(ctx, b.base, b.some())
		if err != nil {
			return 0, err
		}
		trees = append(trees, t.Tree)
	}
	took := time.Since(start)
	return took, b.remove(trees...)
}

func (b *world) atOnce(ctx context.Context, n, cpus int) (time.Duration, error) {
	envs := make([]env, n)
	for i := range envs {
		envs[i] = b.some()
	}
	b.settle()
	var group sync.WaitGroup
	turns, errs := make([]turn, n), make([]error, n)
	start := time.Now()
	for i, e := range envs {
		group.Go(func() { turns[i], errs[i] = b.alone(i, cpus).ours(ctx, b.base, e) })
	}
	group.Wait()
	took := time.Since(start)
	var trees []string
	for i, err := range errs {
		if err != nil {
			return 0, fmt.Errorf("process %d of %d at once: %w", i, n, err)
		}
		b.peak = max(b.peak, turns[i].rss)
		trees = append(trees, turns[i].Tree)
	}
	return took, b.remove(trees...)
}

// alone is a copy that a goroutine may write to, whose process number i works on
// one of cpus CPUs; 0 = on all.
func (b *world) alone(i, cpus int) *world {
	c := &world{o: b.o, self: b.self, row: b.row}
	if cpus > 0 {
		c.before = []string{"taskset", "-c", strconv.Itoa(i % cpus)}
	}
	return c
}

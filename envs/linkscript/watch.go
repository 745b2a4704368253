package linkscript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// lookEvery is the time between two looks at the processes.
	lookEvery = 50 * time.Millisecond
	// diskEvery is the least time between two looks at the files. A look at many
	// files takes its time; the next one waits four times as long.
	diskEvery = 200 * time.Millisecond
)

// watcher keeps the bounds of a script that runs. Between two looks a script may
// exceed them by what it does in that time; the kernel's own limits (the size of
// one file, the memory of one process, the number of processes) always hold.
type watcher struct {
	pid    int
	limits Limits
	dirs   []string
	before usage
	// procs are the script's processes when last looked at, as folders of /proc.
	procs []string
	// free is what the disk had left at the start; -1 = not known.
	free int64
}

// watch returns when ctx ends, or with an errFailed when a bound is exceeded.
func (w *watcher) watch(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	next := time.Now().Add(diskEvery)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := w.checkProcesses(); err != nil {
			return err
		}
		if start := time.Now(); start.After(next) {
			if err := w.checkDisk(ctx); err != nil {
				return err
			}
			took := time.Since(start)
			next = time.Now().Add(max(diskEvery, 4*took))
		}
	}
}

func (w *watcher) checkProcesses() error {
	count, used := 0, int64(0)
	todo := []int{w.pid}
	w.procs = w.procs[:0]
	for len(todo) > 0 {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		dir := "/proc/" + strconv.Itoa(pid)
		tasks, err := os.ReadDir(dir + "/task")
		if err != nil {
			continue // it ended
		}
		count += len(tasks)
		used += memoryOf(dir)
		w.procs = append(w.procs, dir)
		for _, task := range tasks {
			data, err := os.ReadFile(dir + "/task/" + task.Name() + "/children")
			if err != nil {
				continue
			}
			for _, f := range bytes.Fields(data) {
				if child, err := strconv.Atoi(string(f)); err == nil {
					todo = append(todo, child)
				}
			}
		}
	}
	if count > w.limits.Processes+3 { // bubblewrap's own
		return fmt.Errorf("%w: it had %d processes and threads, at most %d are allowed", errFailed, count, w.limits.Processes)
	}
	if used > w.limits.Memory {
		return fmt.Errorf("%w: it used %d MiB of memory, at most %d are allowed", errFailed, used>>20, w.limits.Memory>>20)
	}
	return nil
}

// checkDisk adds up what the script has added. It counts what is allocated, too, so
// that neither sparse files nor many small ones get around it.
func (w *watcher) checkDisk(ctx context.Context) error {
	var now usage
	hidden := ""
	for _, dir := range w.dirs {
		// The function itself never returns an error that ends the walk.
		_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return fs.SkipAll
			}
			var info fs.FileInfo
			if err == nil {
				now.inodes++
				info, err = d.Info()
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			if err != nil {
				hidden = p
				return nil
			}
			if !info.Mode().IsRegular() {
				return nil
			}
			now.bytes += allocated(info)
			return nil
		})
	}
	held := map[inode]int64{}
	for _, proc := range w.procs {
		heldFiles(proc, held)
	}
	for _, size := range held {
		now.bytes += size
		now.inodes++
	}
	if hidden != "" {
		return fmt.Errorf("%w: it hid files, by a directory's mode or too long a path: %.200q", errFailed, hidden)
	}
	const root = 1 // /tmp itself
	if n := now.inodes - w.before.inodes - root; n > w.limits.Inodes {
		return fmt.Errorf("%w: it made %d files, at most %d are allowed", errFailed, n, w.limits.Inodes)
	}
	if n := now.bytes - w.before.bytes; n > w.limits.Bytes {
		return fmt.Errorf("%w: it wrote %d MiB, at most %d are allowed", errFailed, n>>20, w.limits.Bytes>>20)
	}
	return w.checkFree()
}

// checkFree ends a script during which the disk runs full. There are places to keep
// a file that nobody can look into (mapped, or on its way through a socket), and
// whoever else it may be that fills the disk, the script gets no further.
func (w *watcher) checkFree() error {
	free, reserve := freeBytes(w.dirs[0])
	if w.free < 0 || free < 0 || free >= reserve || w.free-free <= w.limits.Bytes {
		return nil
	}
	return fmt.Errorf("%w: the disk ran full while it ran: %d MiB are left, %d were there at its start", errFailed, free>>20, w.free>>20)
}

// Command daemonbench measures a daemon with 10,000 environments whose packages have 5
// million files: its start, lists, a search for a package, a sweep's look at all files, and
// its memory. `make bench-daemon` runs it. The store is made of descriptions alone: a
// daemon reads nothing else of environments.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/figure"
)

const (
	// environments, one for each of two platforms; packages that they choose from, each
	// with so many files.
	environments = 5000
	packages     = 10_000
	files        = 500
	// ofEach is how many packages an environment has.
	ofEach = 120
	runs   = 11
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: daemonbench HPCENVD")
		os.Exit(2)
	}
	code, err := bench(context.Background(), os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "daemonbench: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

// daemon is a running hpcenvd.
type daemon struct {
	cmd    *exec.Cmd
	socket string
	client *api.Client
}

// start starts hpcenvd on a store and returns how long it took until it answered.
func start(ctx context.Context, program, dir string) (*daemon, time.Duration, error) {
	d := &daemon{socket: filepath.Join(dir, "sock")}
	d.cmd = exec.CommandContext(ctx, program)
	// The second sweep of the pool comes a minute after the start.
	d.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HPCENVD_STORE=" + filepath.Join(dir, "store"), "HPCENVD_SOCKET=" + d.socket, "HPCENVD_ALLOW_ROOT=true",
		"HPCENVD_BUILD_DIR=" + filepath.Join(dir, "state", "build"), "HPCENVD_GC_EVERY=1m", "HPCENVD_LOG_LEVEL=warn"}
	d.cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := d.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for {
		client, err := api.Dial(d.socket)
		if err == nil {
			if err = client.Ping(ctx); err == nil {
				d.client = client
				return d, time.Since(begin), nil
			}
		}
		if time.Since(begin) > time.Minute {
			return nil, 0, errors.Join(fmt.Errorf("hpcenvd does not answer: %w", err), d.stop())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (d *daemon) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return d.cmd.Wait()
}

// peak is the greatest memory that the daemon had, in MB.
func (d *daemon) peak() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb * 1024 / 1e6, err
		}
	}
	return 0, errors.New("the kernel does not tell")
}

// schedule waits until a schedule has run and returns what it took.
func (d *daemon) schedule(ctx context.Context, name string, within time.Duration) (time.Duration, error) {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		st, err := d.client.AdminStatus(ctx)
		if err != nil {
			return 0, err
		}
		for _, s := range st.Schedules {
			if s.Name != name || s.Runs == 0 {
				continue
			}
			if s.Problem != "" {
				return 0, fmt.Errorf("%s: %s", name, s.Problem)
			}
			return time.Duration(s.Seconds * float64(time.Second)), nil
		}
	}
	return 0, fmt.Errorf("%s did not run within %s", name, within)
}

// median of so many runs.
func median(do func() error) (time.Duration, error) {
	var all []time.Duration
	for range runs {
		begin := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		all = append(all, time.Since(begin))
	}
	return figure.Median(all), nil
}

func bench(ctx context.Context, program string) (code int, err error) {
	dir, err := os.MkdirTemp("", "db-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Printf("making descriptions of %d environments for two platforms, and of %d packages with %d files each\n", environments, packages, files)
	if err := fill(dir); err != nil {
		return 0, err
	}
	d, first, err := start(ctx, program, dir)
	if err != nil {
		return 0, err
	}
	compared, err := d.schedule(ctx, "index", 5*time.Minute)
	if err = errors.Join(err, d.stop()); err != nil {
		return 0, err
	}
	d, again, err := start(ctx, program, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	same, err := d.schedule(ctx, "index", 5*time.Minute)
	if err != nil {
		return 0, err
	}
	count := 0
	list, err := median(func() error {
		envs, err := d.client.List(ctx)
		count = len(envs)
		return err
	})
	if err != nil {
		return 0, err
	}
	if count != 2*environments {
		return 0, fmt.Errorf("it lists %d environments, there are %d", count, 2*environments)
	}
	found := 0
	where, err := median(func() error {
		envs, err := d.client.Where(ctx, "package7", "1.7")
		found = len(envs)
		return err
	})
	if err != nil {
		return 0, err
	}
	status, err := median(func() error { _, err := d.client.AdminStatus(ctx); return err })
	if err != nil {
		return 0, err
	}
	sweep, err := d.schedule(ctx, "pool", 10*time.Minute)
	if err != nil {
		return 0, err
	}
	memory, err := d.peak()
	if err != nil {
		return 0, err
	}
	fmt.Printf(`
                              %d environments, %d files
    first start               %7.0f ms   with an empty index; then %.1f s to read the store, beside all else
    start                     %7.0f ms   then %.1f s to compare, beside all else
    list of all               %7.1f ms
    who has a package (%d)   %7.1f ms
    status                    %7.1f ms
    a sweep's look at files   %7.1f s
    memory                    %7.0f MB   at most, the sweep included

`, count, packages*files, ms(first), compared.Seconds(), ms(again), same.Seconds(), ms(list), found, ms(where), ms(status), sweep.Seconds(), memory)
	r := figure.NewReport(os.Stdout)
	r.AtMost("daemon.start", max(first, again).Seconds(), "s", 2)
	r.AtMost("daemon.list", ms(list), "ms", 200)
	r.AtMost("daemon.where", ms(where), "ms", 200)
	r.AtMost("daemon.status", ms(status), "ms", 200)
	r.AtMost("daemon.memory", memory, "MB", 300)
	r.Note("daemon.reconcile.first", compared.Seconds(), "s")
	r.Note("daemon.reconcile.same", same.Seconds(), "s")
	r.Note("daemon.sweep.look", sweep.Seconds(), "s")
	return r.ExitCode(), nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

package gpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

// soon is a limit that a driver that hangs reaches soon, and a child that must get as
// far as that on a busy machine does not.
const soon = 4 * time.Second

// broken is a probe of a driver where one call does something.
func broken(t *testing.T, call string, at, do int) Options {
	t.Helper()
	d := gputest.Drivers()["8xh100"]
	d.Rules = append(d.Rules, gputest.Rule{Call: call, GPU: at, Do: do})
	return Options{Program: gputest.Program(t), Library: gputest.Library(t, d), RunDir: t.TempDir(), Limit: long}
}

// marked is the process that the mark names, 0 if there is none.
func marked(t *testing.T, dir string) int {
	t.Helper()
	m, err := readMark(dir)
	if err != nil {
		t.Fatal(err)
	}
	if m == nil {
		return 0
	}
	return m.Pid
}

// TestHang: a driver that never answers costs the limit; the child is gone
// afterwards, and the next one may start.
func TestHang(t *testing.T) {
	for _, c := range []struct {
		name string
		do   int
	}{{"sleeps", gputest.Hang}, {"deaf to signals", gputest.Deaf}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := broken(t, "nvmlDeviceGetRemappedRows", 5, c.do)
			o.Limit = soon
			for range 2 {
				r, err := Probe(t.Context(), o)
				if r != nil || !errors.Is(err, ErrTimeout) || errors.Is(err, ErrHung) {
					t.Fatalf("%+v %v", r, err)
				}
				if text := "in nvmlDeviceGetRemappedRows of GPU 5"; !strings.Contains(err.Error(), text) {
					t.Errorf("it does not say %q: %v", text, err)
				}
				if pid := marked(t, o.RunDir); pid != 0 {
					t.Errorf("process %d is marked", pid)
				}
			}
		})
	}
}

// TestCancelled: the caller's context ends the wait.
func TestCancelled(t *testing.T) {
	t.Parallel()
	o := broken(t, "nvmlInit_v2", gputest.Any, gputest.Hang)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if r, err := Probe(ctx, o); r != nil || !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v %v", r, err)
	}
}

// TestUnkillable: a child that SIGKILL does not end is left alone, none is started
// beside it, and all is well once it has gone.
func TestUnkillable(t *testing.T) {
	t.Parallel()
	o := broken(t, "nvmlInit_v2", gputest.Any, gputest.Hang)
	o.Limit, o.Reap = soon, 100*time.Millisecond
	sent := 0
	o.kill = func(int) error { sent++; return nil }
	r, err := Probe(t.Context(), o)
	if r != nil || !errors.Is(err, ErrHung) || sent != 1 {
		t.Fatalf("%+v %v, %d signals", r, err, sent)
	}
	pid := marked(t, o.RunDir)
	if pid == 0 {
		t.Fatal("no mark of the child")
	}
	t.Cleanup(func() { killGroup(pid) })
	if syscall.Kill(pid, 0) != nil {
		t.Fatalf("process %d is not there", pid)
	}
	if v := Judge(Evidence{Failure: err.Error()}); v.Level != Unknown || !strings.Contains(v.Findings[0].Evidence, "in nvmlInit_v2") {
		t.Errorf("%+v", v)
	}
	// Another parent, which knows the mark only.
	again := o
	again.Library = gputest.Library(t, gputest.Drivers()["8xh100"])
	again.Limit, again.kill = long, nil
	r, err = Probe(t.Context(), again)
	if r != nil || !errors.Is(err, ErrHung) || marked(t, o.RunDir) != pid {
		t.Fatalf("a second one was started: %+v %v", r, err)
	}
	if err := killGroup(pid); err != nil {
		t.Fatal(err)
	}
	for born(pid) != "" {
		time.Sleep(time.Millisecond)
	}
	if r, err = Probe(t.Context(), again); err != nil || len(r.GPUs) != 8 {
		t.Errorf("after its end: %+v %v", r, err)
	}
}

// TestMark: who is marked is told by pid and start; a mark that cannot be believed
// is an error, since what it would forbid is not known.
func TestMark(t *testing.T) {
	o := broken(t, "nvmlShutdown", gputest.Any, 0)
	path := filepath.Join(o.RunDir, markFile)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	this := strings.TrimSpace(string(boot))
	mine := born(os.Getpid())
	if mine == "" {
		t.Fatal("this process has no start")
	}
	of := func(boot, start string, pid string) string {
		return `{"boot":"` + boot + `","pid":` + pid + `,"born":"` + start + `","since":"2026-01-01T00:00:00Z"}`
	}
	pid := strconv.Itoa(os.Getpid())
	write(of(this, mine, pid))
	if _, err := Probe(t.Context(), o); !errors.Is(err, ErrBusy) {
		t.Errorf("one runs: %v", err)
	}
	for name, text := range map[string]string{"another process of that number": of(this, "1", pid), "of an earlier boot": of("x", mine, pid), "gone": of(this, mine, "4194305")} {
		write(text)
		if _, err := Probe(t.Context(), o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left := marked(t, o.RunDir); left != 0 {
			t.Errorf("%s: %d is marked", name, left)
		}
	}
	write("{")
	if _, err := Probe(t.Context(), o); !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), path) {
		t.Errorf("garbage: %v", err)
	}
	write(of(this, "1", pid))
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Probe(t.Context(), o); !errors.Is(err, ErrProgram) {
		t.Errorf("anyone's file: %v", err)
	}
}

// TestOneAtATime: of many at once one asks, the others say that one does.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	o := broken(t, "nvmlInit_v2", gputest.Any, gputest.Hang)
	o.Limit = soon
	results := make(chan error)
	for range 8 {
		go func() {
			_, err := Probe(context.Background(), o)
			results <- err
		}()
	}
	var asked int
	for range 8 {
		switch err := <-results; {
		case errors.Is(err, ErrTimeout):
			asked++
		case !errors.Is(err, ErrBusy):
			t.Error(err)
		}
	}
	if asked != 1 {
		t.Errorf("%d asked", asked)
	}
}

func TestCrash(t *testing.T) {
	o := broken(t, "nvmlDeviceGetName", 2, gputest.Crash)
	_, err := Probe(t.Context(), o)
	if !errors.Is(err, ErrCrash) || !strings.Contains(err.Error(), "segmentation fault") || !strings.Contains(err.Error(), "in nvmlDeviceGetName of GPU 2") {
		t.Error(err)
	}
	o = broken(t, "nvmlDeviceGetName", 2, gputest.Exit)
	if _, err = Probe(t.Context(), o); !errors.Is(err, ErrAnswer) {
		t.Errorf("a library that ends the process: %v", err)
	}
}

// TestHelpers: what a library starts and what it prints is no part of the answer,
// nor a reason to wait.
func TestHelpers(t *testing.T) {
	for _, do := range []int{gputest.Spawn, gputest.Noise} {
		o := broken(t, "nvmlInit_v2", gputest.Any, do)
		start := time.Now()
		r, err := Probe(t.Context(), o)
		if err != nil || len(r.GPUs) != 8 {
			t.Errorf("%d: %+v %v", do, r, err)
		}
		if time.Since(start) > long/2 {
			t.Errorf("%d: it was waited for", do)
		}
	}
}

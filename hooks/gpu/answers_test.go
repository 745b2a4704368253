package gpu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

// TestEmptyEnvironment: the child gets nothing of this process's environment.
func TestEmptyEnvironment(t *testing.T) {
	t.Setenv("LD_LIBRARY_PATH", filepath.Dir(gputest.Library(t, gputest.Drivers()["8xh100"])))
	program := script(t, `[ "$(env | grep -v -e ^PWD= -e ^SHLVL= -e ^_=)" = "" ] || exit 9
echo '{"version":1,"vendor":"nvidia","state":"ok","driver":"'"$*"'"}'`)
	r, err := Probe(t.Context(), Options{Program: program, Limit: long, Reap: time.Second})
	if err != nil || r.Driver != "--progress --limit 1m11s" {
		t.Errorf("%+v %v", r, err)
	}
}

// script is a child program.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "child")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAnswers: whatever the child prints, there is a report or an error that says
// what was wrong.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"nothing":      {`:`, ErrAnswer},
		"garbage":      {`echo hello`, ErrAnswer},
		"cut":          {`printf '{"version":1,"vendor":"nvidia","sta'`, ErrAnswer},
		"more":         {`echo '{"version":1,"vendor":"nvidia","state":"ok"} {}'`, ErrAnswer},
		"twice":        {`echo '{"version":1,"vendor":"nvidia","state":"ok","gpus":[{"index":0},{"index":0}]}'`, ErrAnswer},
		"other state":  {`echo '{"version":1,"vendor":"nvidia","state":"fine"}'`, ErrAnswer},
		"other field":  {`echo '{"version":1,"vendor":"nvidia","state":"ok","what":1}'`, ErrAnswer},
		"newer":        {`echo '{"version":2}'`, ErrAnswer},
		"endless":      {`yes`, ErrTimeout},
		"too much":     {`head -c 3000000 /dev/zero`, ErrAnswer},
		"fails":        {`echo what >&2; exit 3`, ErrCrash},
		"ends by term": {`kill -TERM $$`, ErrCrash},
		"closes":       {`exec >&-; exec 2>&-; sleep 100`, ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := long
			if c.want == ErrTimeout {
				limit = time.Second
			}
			r, err := Probe(t.Context(), Options{Program: script(t, c.text), Limit: limit, RunDir: t.TempDir()})
			if r != nil || !errors.Is(err, c.want) {
				t.Errorf("%+v %v, want %v", r, err, c.want)
			}
			if name == "fails" && !strings.Contains(err.Error(), ": what") {
				t.Errorf("what it said is not told: %v", err)
			}
		})
	}
}

// TestFind: the child lies beside the program, or in libexec of its installation.
func TestFind(t *testing.T) {
	prefix := t.TempDir()
	for _, dir := range []string{"bin", "libexec/hpcenv"} {
		if err := os.MkdirAll(filepath.Join(prefix, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self := filepath.Join(prefix, "bin/hpcenv")
	if p, err := find(self); !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), "next:") {
		t.Errorf("%q %v", p, err)
	}
	for _, at := range []string{"libexec/hpcenv/hpcenv-gpu", "bin/hpcenv-gpu"} {
		want := filepath.Join(prefix, at)
		if err := os.WriteFile(want, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if p, err := find(self); p != want || err != nil {
			t.Errorf("%q %v, want %q", p, err, want)
		}
	}
}

// TestProgram: root starts only what root or this account owns.
func TestProgram(t *testing.T) {
	open := script(t, "exit 0")
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	foreign := script(t, "exit 0")
	programs := []string{open, plain, filepath.Join(t.TempDir(), "absent"), t.TempDir(), ""}
	if os.Geteuid() == 0 {
		if err := os.Chown(foreign, 4242, 4242); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, foreign)
	}
	for _, p := range programs {
		if _, err := Probe(t.Context(), Options{Program: p}); !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), "next:") {
			t.Errorf("%q: %v", p, err)
		}
	}
	if _, err := Probe(t.Context(), Options{Program: script(t, ""), RunDir: filepath.Join(t.TempDir(), "absent")}); !errors.Is(err, ErrProgram) {
		t.Errorf("no run directory: %v", err)
	}
}

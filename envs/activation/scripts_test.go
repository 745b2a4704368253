package activation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func inline(name, text string) Source { return Source{Name: name, Content: &text} }

func TestRunScriptsOrderAndOutput(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a b'c.sh": "echo out; echo err >&2; export A=1 WHO=\"${BASH_SOURCE[0]}\"; set -eu; false_var=${NOPE-}",
	})
	p := filepath.Join(dir, "a b'c.sh")
	var out bytes.Buffer
	env, err := RunScripts(context.Background(), []string{"PATH=/usr/bin:/bin", "X=keep\nnl", "GO=1"}, []Source{
		{Name: p, Path: p},
		inline("second", "export A=${A}2 UNSET_IS_FINE=$NOT_SET; unset GO; false\n"),
		inline("third", "return 3\nexport NEVER=1\n"),
	}, Options{Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"A=12", "PATH=/usr/bin:/bin", "UNSET_IS_FINE=", "WHO=" + p, "X=keep\nnl"}
	if got := sorted(env); !reflect.DeepEqual(got, want) {
		t.Errorf("environment\n%q, want\n%q", got, want)
	}
	if out.String() != "out\nerr\n" {
		t.Errorf("output %q", out.String())
	}
}

// A script's environment must not decide which program reads it back, nor may
// functions, aliases, modes, or descriptors that it uses.
func TestRunScriptsHostile(t *testing.T) {
	evil := t.TempDir()
	for _, name := range []string{"env", "cat", "bash", "printf", "sh"} {
		if err := os.WriteFile(filepath.Join(evil, name), []byte("#!/bin/sh\nprintf 'EVIL=1\\0' >&193\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bashEnv := filepath.Join(evil, "bashenv")
	if err := os.WriteFile(bashEnv, []byte("export FROM_BASH_ENV=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	module := "BASH_FUNC_module%%=() {  echo in module;\n export MODULE_RAN=1; }"
	base := []string{"PATH=" + evil, module, "BASH_ENV=" + bashEnv, "ENV=" + bashEnv, "SHELLOPTS=errexit:nounset", "POSIXLY_CORRECT=1", "_=x", "SHLVL=4", "PWD=/nowhere"}
	for name, text := range map[string]string{
		"hostile PATH":     "export OK=1",
		"no PATH":          "unset PATH; export OK=1",
		"function exec":    "exec() { :; }; env() { :; }; export -f exec env; export OK=1",
		"function printf":  "printf() { :; }; set() { :; }; export OK=1",
		"closes":           "exec 3>&- 4>&- 5>&- 1>&- 2>&-; export OK=1",
		"stdin":            "read -r line; export OK=1",
		"modes":            "set -euo pipefail; set -C; set -f; export OK=1",
		"allexport":        "set -a; OK=1",
		"exit trap":        "trap 'echo x >/dev/full' EXIT; export OK=1",
		"left behind":      "sleep 60 & export OK=1",
		"imports function": "module; export OK=$MODULE_RAN",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			env, err := RunScripts(context.Background(), base, []Source{inline("hostile", text+"\n")}, Options{Timeout: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			wantVar(t, env, "OK", "1")
			for _, n := range []string{"EVIL", "FROM_BASH_ENV", "BASH_FUNC_exec%%"} {
				wantUnset(t, env, n)
			}
			for _, kv := range base {
				n, v, _ := strings.Cut(kv, "=")
				if n != "PATH" {
					wantVar(t, env, n, v)
				}
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("took %s: something a script left behind was waited for", d)
			}
		})
	}
}

func TestRunScriptsFailuresNameTheScript(t *testing.T) {
	good := inline("good.sh", "export A=1\n")
	for name, c := range map[string]struct {
		s    Source
		opts Options
		want string
	}{
		"exit":    {inline("bad.sh", "exit 7\n"), Options{}, "exit status 7"},
		"exit 0":  {inline("bad.sh", "exit 0\n"), Options{}, "ended the shell"},
		"missing": {Source{Name: "bad.sh", Path: "/nonexistent/bad.sh"}, Options{}, "cannot be read"},
		"hangs":   {inline("bad.sh", "trap '' TERM INT; sleep 100; sleep 100\n"), Options{Timeout: 300 * time.Millisecond}, "300ms"},
		"killed":  {inline("bad.sh", "kill -9 $$\n"), Options{}, "killed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := RunScripts(context.Background(), []string{"PATH=/usr/bin:/bin"}, []Source{good, c.s, good}, c.opts)
			if !errors.Is(err, ErrScript) || !strings.Contains(err.Error(), "bad.sh") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want class ErrScript, bad.sh and %q", err, c.want)
			}
		})
	}
}

func TestRunScriptsTimeoutKillsTheGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	text := fmt.Sprintf("sleep 300 & echo $! >%s; wait\n", quotePOSIX(pidFile))
	_, err := RunScripts(context.Background(), []string{"PATH=/usr/bin:/bin"}, []Source{inline("s", text)}, Options{Timeout: 700 * time.Millisecond})
	if !errors.Is(err, ErrScript) {
		t.Fatalf("error %v", err)
	}
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	stat := "/proc/" + strings.TrimSpace(string(pid)) + "/stat"
	for i := 0; ; i++ {
		data, err := os.ReadFile(stat)
		if err != nil || strings.Contains(string(data), ") Z ") {
			return
		}
		if i == 100 {
			t.Fatalf("the script's child still runs: %s", data)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestRunScriptsOutputIsBounded(t *testing.T) {
	var out bytes.Buffer
	_, err := RunScripts(context.Background(), []string{"PATH=/usr/bin:/bin"},
		[]Source{inline("s", "for i in {1..5000}; do echo 0123456789012345678901234567890123456789; done\n")}, Options{Stderr: &out, MaxOutput: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if out.Len() > 1100 || !strings.Contains(out.String(), "dropped") {
		t.Errorf("%d bytes passed on: …%q", out.Len(), out.String()[max(0, out.Len()-80):])
	}
}

// Package peer asks other people's programs, for tests that compare with them:
// those of the virtual environment that contrib/setup/oracle.sh makes (packaging,
// pip, uv, py-rattler). Where it was not made, a test that asks is skipped,
// loudly; with HPCENV_ORACLE=require it fails.
package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limit of one program.
const limit = 3 * time.Minute

// Python returns the path of the virtual environment's interpreter; programs
// such as uv lie beside it.
func Python(t testing.TB) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(root(t), "contrib", "setup", "oracle.sh"), "path")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	why := fmt.Sprintf("ORACLE ABSENT: nothing to compare with (%v); run: contrib/setup/oracle.sh make", err)
	if os.Getenv("HPCENV_ORACLE") == "require" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// Ask runs a Python program that reads one JSON value from its standard input
// and writes one to its standard output.
func Ask(t testing.TB, program string, in, out any) {
	t.Helper()
	python := Python(t)
	question, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	// The program comes as an argument, the question on standard input.
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, python, "-I", "-W", "ignore", "-c", program)
	cmd.Stdin = bytes.NewReader(question)
	var answer, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &answer, &trouble
	err = cmd.Run()
	if err != nil {
		t.Fatalf("the peer's program: %v\n%s", err, trouble.String())
	}
	if err := json.Unmarshal(answer.Bytes(), out); err != nil {
		t.Fatalf("the peer's answer: %v\n%.400s", err, answer.String())
	}
}

// root is the directory of go.mod, upwards from where the test runs.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod upwards from the working directory")
		}
		dir = parent
	}
}

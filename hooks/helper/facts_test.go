package helper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

// TestFactsVerb: what the boot unit leaves is what a launch loads.
func TestFactsVerb(t *testing.T) {
	root := factstest.Tree(t, "ss11-gpu")
	dir := filepath.Join(t.TempDir(), "run", "hpcenv-node")
	file := filepath.Join(dir, facts.RecordFile)
	if code := Main([]string{"slurm-hook", "facts", "--root", root, "-o", file}, Deps{}); code != api.ExitDone {
		t.Fatalf("exit %d", code)
	}
	want := facts.Read(t.Context(), root)
	got, err := facts.Load(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-read +loaded):\n%s", diff)
	}
	var out bytes.Buffer
	if err := writeFacts(t.Context(), []string{"--root=" + root, "-o", "-"}, &out); err != nil {
		t.Fatal(err)
	}
	var printed facts.Facts
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &printed); diff != "" {
		t.Errorf("(-read +printed):\n%s", diff)
	}
}

func TestFactsVerbRefuses(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"--what"}, api.ExitUsage},
		{[]string{"more"}, api.ExitUsage},
		{[]string{"--root", filepath.Join(open, "absent")}, api.ExitUsage},
		{[]string{"--root", "/dev/null"}, api.ExitUsage},
		// Where others can rename files about, nothing is left to be believed.
		{[]string{"--root", t.TempDir(), "-o", filepath.Join(open, "facts.json")}, api.ExitFailed},
		{[]string{"--root", t.TempDir(), "-o", "/proc/none/facts.json"}, api.ExitFailed},
	} {
		err := writeFacts(context.Background(), c.args, &bytes.Buffer{})
		if exitCode(err) != c.code {
			t.Errorf("%q: exit %d, want %d: %v", c.args, exitCode(err), c.code, err)
		}
	}
	if _, err := os.Stat(filepath.Join(open, "facts.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a record in a directory of everyone: %v", err)
	}
}

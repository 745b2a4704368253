package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := gputest.Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// smi is an nvidia-smi that prints rows.
func smi(t *testing.T, rows string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "smi")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat <<'END'\n"+rows+"END\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func rows(memory string) string {
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, "%d, NVIDIA GH200 120GB, GPU-00000000-0000-0000-0000-%012d, 00000009:%02X:00.0, 9.0, %s, 550.54.15, Disabled, Enabled, Default\n", i, i, 0x18+0x11*i, memory)
	}
	return b.String()
}

func TestCheck(t *testing.T) {
	d := gputest.Drivers()["4xgh200"]
	c := check{root: gputest.Node(t, d), program: gputest.Program(t), library: gputest.Library(t, d), smi: smi(t, rows("97871"))}
	var out strings.Builder
	if err := c.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Verdict: ok", "0009:4b:00.0  healthy", `by its driver: {"vendor":"nvidia","driver":"550.54.15","cuda":"12.4","compute":"9.0"`,
		"The record is read in", "the same of 40 values, another thing of 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	c.smi = smi(t, rows("1"))
	if err := c.run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), `GPU 3: memory.total is "1" for nvidia-smi, "97871" in the report`) {
		t.Errorf("%v", err)
	}
	c.smi = smi(t, "")
	if err := c.run(t.Context(), &out); err == nil {
		t.Error("no GPU for nvidia-smi, four in the report")
	}
	out.Reset()
	c.smi = "no-such-nvidia-smi"
	if err := c.run(t.Context(), &out); err != nil || !strings.Contains(out.String(), "nothing to compare with") {
		t.Errorf("%v %s", err, out.String())
	}
}

func TestNoGPU(t *testing.T) {
	c := check{root: t.TempDir(), program: gputest.Program(t)}
	var out strings.Builder
	if err := c.run(t.Context(), &out); err != nil || !strings.Contains(out.String(), "has no NVIDIA GPU") {
		t.Errorf("%v %s", err, out.String())
	}
}

package gpu

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

// run starts the child by hand, as an administrator does.
func run(t *testing.T, env []string, args ...string) (*Report, string) {
	t.Helper()
	cmd := exec.Command(gputest.Program(t), args...)
	cmd.Env = env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	r, err := Decode(out)
	if err != nil {
		t.Fatal(err)
	}
	return r, said.String()
}

// TestByHand: the loader's path leads to the driver, CUDA_VISIBLE_DEVICES hides
// nothing, and the output is one line of JSON.
func TestByHand(t *testing.T) {
	lib := gputest.Library(t, gputest.Drivers()["8xh100"])
	r, said := run(t, []string{"LD_LIBRARY_PATH=" + filepath.Dir(lib), "CUDA_VISIBLE_DEVICES=1"})
	if r.State != StateOK || len(r.GPUs) != 8 || r.Library != lib || said != "" {
		t.Errorf("%s %d %s %q", r.State, len(r.GPUs), r.Library, said)
	}
	_, said = run(t, nil, "--library", lib, "--progress")
	if !strings.HasPrefix(said, "call: dlopen "+lib+"\ncall: nvmlInit_v2\n") || !strings.Contains(said, "\ncall: nvmlDeviceGetUUID of GPU 7\n") {
		t.Errorf("progress: %q", said)
	}
}

// TestDevices: only GPUs whose device nodes can be opened are granted.
func TestDevices(t *testing.T) {
	d := gputest.Drivers()["8xh100"]
	d.Rules = append(d.Rules, gputest.Rule{Call: "nvmlDeviceGetHandleByIndex_v2", GPU: 5, Do: 4})
	lib := gputest.Library(t, d)
	dev := t.TempDir()
	for _, n := range []string{"nvidia1", "nvidia6"} {
		if err := os.WriteFile(filepath.Join(dev, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dev, "nvidia2"), 0o700); err != nil { // it cannot be opened to write
		t.Fatal(err)
	}
	r, _ := run(t, nil, "--library", lib, "--devices", "--dev", dev)
	var granted, withheld []int
	for _, g := range r.GPUs {
		granted = append(granted, g.Index)
	}
	for _, w := range r.Withheld {
		if w.Why == "" {
			t.Errorf("no reason: %+v", w)
		}
		withheld = append(withheld, w.Index)
	}
	if !slices.Equal(granted, []int{1, 6}) || !slices.Equal(withheld, []int{0, 2, 3, 4, 5, 7}) {
		t.Errorf("granted %d, withheld %d", granted, withheld)
	}
	// None of that is a GPU that is missing.
	if v := Judge(Evidence{Report: r, Served: make([]string, 8)}); v.Level != OK {
		t.Errorf("%+v", v)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--what"}, {"more"}, {"--limit", "0s"}} {
		out, err := exec.Command(gputest.Program(t), args...).Output()
		if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 2 || len(out) > 0 {
			t.Errorf("%q: %v %q", args, err, out)
		}
	}
}

// TestOwnLimit: a child without a parent does not stay.
func TestOwnLimit(t *testing.T) {
	d := gputest.Drivers()["8xh100"]
	d.Rules = []gputest.Rule{{Call: "nvmlInit_v2", GPU: gputest.Any, Do: gputest.Hang}}
	out, err := exec.Command(gputest.Program(t), "--library", gputest.Library(t, d), "--limit", "200ms").Output()
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 4 || len(out) > 0 {
		t.Errorf("%v %q", err, out)
	}
}

// TestARM64: the child for the other architecture reads the same, in emulation.
func TestARM64(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	gputest.Compiler(t)
	cc, err := exec.LookPath("aarch64-linux-gnu-gcc")
	if err != nil {
		t.Skip("SKIPPED: aarch64-linux-gnu-gcc is not installed")
	}
	emulator, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Skip("SKIPPED: qemu-aarch64-static is not installed")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "hpcenv-gpu")
	if err := gputest.Build(program, "GOARCH=arm64", "CC="+cc); err != nil {
		t.Fatal(err)
	}
	d := gputest.Drivers()["old"]
	lib, err := gputest.Compile(dir, cc, d)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(emulator, "-L", "/usr/aarch64-linux-gnu", program, "--library", lib).Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode(out)
	if err != nil {
		t.Fatal(err)
	}
	want := probe(t, d)
	r.Library, want.Library = "", ""
	a, errA := json.Marshal(r)
	b, errB := json.Marshal(want)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%v %v\narm64 %s\nhost  %s", errA, errB, a, b)
	}
}

//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// box is the sandbox of this host; without one the test is skipped.
func box(t *testing.T) *Box {
	t.Helper()
	b := New()
	if err := b.Available(); err != nil {
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	return b
}

// What a Spec says is what runs: its variables, directories, files that may be
// written, and nothing else.
func TestSpec(t *testing.T) {
	b, dir := box(t), t.TempDir()
	for _, d := range []string{"ro", "rw"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SECRET", "x")
	cmd, done, err := b.Command(context.Background(), Spec{
		Argv: []string{"/usr/bin/bash", "-c", `echo $A-$SECRET-$PWD-$$; echo x > /rw/x; echo x > /ro/x; head -c 5000 /dev/zero > /rw/long; echo end`}, Dir: "/rw", Env: []string{"A=b=c", "PATH=/usr/bin"},
		Binds: []Bind{{From: filepath.Join(dir, "ro"), At: "/ro"}, {From: filepath.Join(dir, "rw"), At: "/rw", Write: true}}, Fork: true, System: true,
		Limits: Limits{Processes: 8, Memory: 1 << 30, FileBytes: 1000, OpenFiles: 64, CPU: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "b=c--/rw-1\n") || !strings.HasSuffix(string(out), "end\n") {
		t.Errorf("%s %v", out, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "rw/long")); err != nil || st.Size() > 1000 {
		t.Errorf("a file of more than is allowed: %v %v", st, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "rw/x")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ro/x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("written read-only: %v", err)
	}
}

func TestNoBubblewrap(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, _, err := New().Command(context.Background(), Spec{Argv: []string{"/usr/bin/true"}})
	if !errors.Is(err, ErrNoSandbox) || !strings.Contains(err.Error(), "bwrap") {
		t.Errorf("got %v", err)
	}
}

// The filter's verdict for each call that it names, worked out by running it here.
func TestFilterRefuses(t *testing.T) {
	for _, fork := range []bool{false, true} {
		for arch, n := range byArch {
			verdict := func(nr, flags uint32) uint32 { return simulate(t, seccompFilter(n, fork), n.arch, nr, flags) }
			refused, absent := unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)
			want := map[string][2]uint32{
				"clone3": {verdict(clone3, 0), absent}, "new user": {verdict(n.clone, unix.CLONE_NEWUSER), refused}, "thread": {verdict(n.clone, unix.CLONE_THREAD), unix.SECCOMP_RET_ALLOW},
				"process": {verdict(n.clone, uint32(unix.SIGCHLD)), map[bool]uint32{true: unix.SECCOMP_RET_ALLOW, false: refused}[fork]}, "unnamed": {verdict(9999, 0), unix.SECCOMP_RET_ALLOW},
				"other table": {verdict(0x40000001, 0), refused},
			}
			for _, nr := range n.always {
				want[fmt.Sprint(nr)] = [2]uint32{verdict(nr, 0), refused}
			}
			for _, nr := range n.fork {
				want["fork "+fmt.Sprint(nr)] = [2]uint32{verdict(nr, 0), map[bool]uint32{true: unix.SECCOMP_RET_ALLOW, false: refused}[fork]}
			}
			for what, v := range want {
				if v[0] != v[1] {
					t.Errorf("%s, fork %v, %s: %#x, want %#x", arch, fork, what, v[0], v[1])
				}
			}
			if got := simulate(t, seccompFilter(n, fork), 1, 0, 0); got != unix.SECCOMP_RET_KILL_PROCESS {
				t.Errorf("%s: another architecture: %#x", arch, got)
			}
		}
	}
	if _, ok := byArch[runtime.GOARCH]; !ok {
		t.Errorf("no filter for %s", runtime.GOARCH)
	}
}

// simulate runs a filter as the kernel does.
func simulate(t *testing.T, prog []unix.SockFilter, arch, nr, flags uint32) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; pc < len(prog); pc++ {
		f := prog[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(f.Jt)
			} else {
				pc += int(f.Jf)
			}
		}
		switch f.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = map[uint32]uint32{0: nr, 4: arch, 16: flags}[f.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == f.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= f.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&f.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return f.K
		default:
			t.Fatalf("instruction %#x", f.Code)
		}
	}
	t.Fatal("the filter ends without a verdict")
	return 0
}

// A daemon may have a capability that programs inherit; the sandbox works, and has
// none.
func TestCapabilitiesAreGivenUp(t *testing.T) {
	const as = "HPCENV_TEST_CAPABLE"
	if os.Getenv(as) != "" {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil || !strings.Contains(string(status), "CapAmb:\t0000000000000001\n") {
			t.Fatalf("the test itself has no capability: %v\n%s", err, status)
		}
		cmd, done, err := New().Command(context.Background(), Spec{
			Argv: []string{"/usr/bin/grep", "Cap[PEA]", "/proc/self/status"}, Fork: true, System: true,
			Limits: Limits{Processes: 8, Memory: 1 << 30, OpenFiles: 64, CPU: time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		out, err := cmd.CombinedOutput()
		for _, set := range []string{"CapPrm", "CapEff", "CapAmb"} {
			if err != nil || !strings.Contains(string(out), set+":\t0000000000000000\n") {
				t.Errorf("%s: %s %v", set, out, err)
			}
		}
		return
	}
	box(t)
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: nobody gives this test a capability")
	}
	// Other accounts must reach it.
	dir, err := os.MkdirTemp("/tmp", "hpcenv-capable-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(program, self, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+chown", "--ambient-caps=+chown",
		program, "-test.run=^TestCapabilitiesAreGivenUp$")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), as+"=1", "TMPDIR=/tmp")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

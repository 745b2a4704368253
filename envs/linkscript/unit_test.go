//go:build linux

package linkscript_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// inUnit is set for the tests that run under the unit's restrictions; inFilter
	// for the step before, which installs the filter of system calls.
	inUnit, inFilter = "HPCENV_TEST_UNIT", "HPCENV_TEST_FILTER"
	sleeperMark      = "HPCENV_TEST_SLEEPER"
)

func TestMain(m *testing.M) {
	if f := os.Getenv(inFilter); f != "" {
		fmt.Fprintln(os.Stderr, "filter:", filterAndGo(strings.Fields(f)))
		os.Exit(125)
	}
	os.Exit(m.Run())
}

// again is this test binary with one test.
func again(t *testing.T, test string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// TestSleeper is the caller that TestNothingStaysAlive kills.
func TestSleeper(t *testing.T) {
	m := os.Getenv(sleeperMark)
	if m == "" {
		t.Skip("only called by TestNothingStaysAlive")
	}
	newPlace(t, "setsid sleep "+m+" & sleep "+m+"\n").run()
}

// unit reads the daemon's unit.
func unit(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../contrib/systemd/hpcenvd.service")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, l := range strings.Split(string(data), "\n") {
		if k, v, ok := strings.Cut(l, "="); ok && !strings.HasPrefix(l, "#") {
			out[k] = v
		}
	}
	return out
}

// What the unit forbids must leave bubblewrap able to work; what it must have, it
// has. Where systemd is no init, this and the next test stand for it.
func TestUnitLeavesRoomForTheSandbox(t *testing.T) {
	u := unit(t)
	for _, k := range []string{"RestrictNamespaces", "PrivateUsers", "SystemCallFilter", "ProtectProc", "ProcSubset", "MemoryDenyWriteExecute"} {
		if v, ok := u[k]; ok {
			t.Errorf("%s=%s: this was not tried with bubblewrap", k, v)
		}
	}
	if !slices.Contains(strings.Fields(u["RestrictAddressFamilies"]), "AF_NETLINK") {
		t.Error("without AF_NETLINK bubblewrap cannot set up a name space of the network")
	}
	for k, v := range map[string]string{"NoNewPrivileges": "yes", "ProtectSystem": "full", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes", "CapabilityBoundingSet": "", "RestrictSUIDSGID": "yes"} {
		if got, ok := u[k]; !ok || got != v {
			t.Errorf("%s=%q (there: %v), want %q", k, got, ok, v)
		}
	}
}

// families are the numbers of RestrictAddressFamilies.
var families = map[string]string{"AF_UNIX": "1", "AF_INET": "2", "AF_INET6": "10", "AF_NETLINK": "16"}

// setUp does to a mount name space what the unit does: ProtectSystem, ProtectHome,
// PrivateTmp, PrivateDevices, ProtectKernelTunables, ProtectKernelModules,
// ProtectControlGroups.
const setUp = `set -e
mount --make-rprivate /
for d in /usr /etc; do mount --rbind $d $d; mount -o remount,bind,ro $d; done
[ -d /boot ] && mount --bind /boot /boot && mount -o remount,bind,ro /boot
for d in /home /root /run/user; do [ ! -d $d ] || mount -t tmpfs -o mode=000,ro none $d; done
mount -t tmpfs -o mode=1777 none /tmp; mount -t tmpfs -o mode=1777 none /var/tmp
mkdir -p $DEV; mount -t tmpfs -o mode=755 none $DEV
for d in null zero full random urandom tty; do touch $DEV/$d; mount --bind /dev/$d $DEV/$d; done
ln -s /proc/self/fd $DEV/fd; mkdir $DEV/shm $DEV/pts
mount --rbind $DEV /dev
mount --rbind /sys /sys; mount -o remount,bind,ro /sys
if [ "$TUNABLES" = yes ]; then
	for d in /proc/sys /proc/acpi /proc/bus /proc/fs /proc/irq; do [ ! -d $d ] || { mount --rbind $d $d && mount -o remount,bind,ro $d; }; done
	for d in /proc/kallsyms /proc/kcore; do [ ! -e $d ] || mount --bind /dev/null $d; done
fi
exec "$@"
`

// TestUnderTheUnit runs the tests of this package as an account without privileges
// under what the daemon's unit restricts. It emulates the unit with mounts, setpriv
// and a filter of system calls: it works where no systemd runs. Not emulated:
// RestrictRealtime, LockPersonality and the set-id part of RestrictSUIDSGID, which
// bubblewrap never meets.
func TestUnderTheUnit(t *testing.T) {
	if os.Getenv(inUnit) != "" {
		t.Skip("this is under the unit")
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: the unit's restrictions cannot be emulated, this test was not run")
	}
	local(t)
	dir, err := os.MkdirTemp("/run", "hpcenv-unit-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "linkscript.test")
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for _, f := range strings.Fields(unit(t)["RestrictAddressFamilies"]) {
		if families[f] == "" {
			t.Fatalf("RestrictAddressFamilies names %s, which this test does not know", f)
		}
		allowed = append(allowed, families[f])
	}
	all := "TestWhatAScriptChanges|TestSandboxHolds|TestPoolIsSafe|TestBounds|TestOutputIsTamed|TestNothingStaysAlive"
	underUnit(t, bin, allowed, unit(t)["ProtectKernelTunables"], all)
	// Where an administrator hides parts of /proc, the sandbox goes without one.
	underUnit(t, bin, allowed, "yes", "TestWhatAScriptChanges|TestPoolIsSafe|TestNothingStaysAlive")
}

// underUnit runs tests of this package under the unit's restrictions.
func underUnit(t *testing.T, bin string, allowed []string, tunables, tests string) {
	t.Helper()
	const account = "64998"
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", setUp, "sh",
		"setpriv", "--reuid", account, "--regid", account, "--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--",
		bin, "-test.v", "-test.parallel=4", "-test.run", "^("+tests+")$")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR=/tmp", "TUNABLES=" + tunables, "DEV=" + filepath.Join(filepath.Dir(bin), "dev"), inUnit + "=1", inFilter + "=" + strings.Join(allowed, " ")}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestNothingStaysAlive") || strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("under the unit's restrictions: %v\n%s", err, out)
	}
}

// filterAndGo refuses sockets of other families, as RestrictAddressFamilies does,
// and starts this program again without inFilter.
func filterAndGo(families []string) error {
	runtime.LockOSThread()
	nr := map[string]uint32{"amd64": 41, "arm64": 198}[runtime.GOARCH]
	const load, equal, end = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	allow := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
	prog := []unix.SockFilter{{Code: load, K: 0}, {Code: equal, Jt: 1, K: nr}, allow, {Code: load, K: 16}}
	for _, f := range families {
		var n uint32
		if _, err := fmt.Sscan(f, &n); err != nil {
			return err
		}
		prog = append(prog, unix.SockFilter{Code: equal, Jf: 1, K: n}, allow)
	}
	prog = append(prog, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&fprog)), 0, 0); err != nil {
		return err
	}
	if err := os.Unsetenv(inFilter); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

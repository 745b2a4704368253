package helper

import (
	"errors"
	"fmt"
	"github.com/hpcenv/hpcenv/daemon/api"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/hooks/pin"
)

// attachFlags come from root-owned configuration (plugstack.conf) and from
// slurmd, never from the job's environment.
type attachFlags struct {
	store, prefixRoot, runDir string
	owner, uid, gid           int
	groups, job, pin          string
	group                     string // in whose part of the store the trees lie; "" = everybody's
}

// attach makes the cluster's trees of this platform, or those of a group's part of
// the store, visible at the prefix root, in the mount namespace it was started in. It runs as root with an empty
// environment. On storage that refuses root only the user may look at the
// trees, so a child that has become the user opens the directory and hands the
// descriptor over; root mounts the descriptor and never a path.
func attach(args []string) error {
	var f attachFlags
	fl := newFlags("attach")
	fl.StringVar(&f.store, "store", "", "")
	fl.StringVar(&f.prefixRoot, "prefix-root", "", "")
	fl.StringVar(&f.runDir, "run-dir", "", "")
	fl.StringVar(&f.groups, "groups", "", "")
	fl.StringVar(&f.job, "job", "", "")
	fl.IntVar(&f.owner, "owner", -1, "")
	fl.IntVar(&f.uid, "uid", -1, "")
	fl.IntVar(&f.gid, "gid", -1, "")
	fl.StringVar(&f.pin, "pin", "", "")
	if err := parse(fl, args); err != nil {
		return err
	}
	// The pin is the user's to write. It names a group at most, into whose part of the
	// store the user's child gets as the user.
	p, err := stepPin(f.runDir, f.job, f.pin)
	if err != nil {
		return refuse(api.ExitFailed, "%w; next: submit the job again", err)
	}
	if p == nil || p.Delivery() == pin.Own {
		return nil
	}
	if f.store == "" {
		return refuse(api.ExitUnreachable, "this job uses the cluster's store, but no store is configured on this node; next: the administrator adds store=PATH to the hpcenv line of plugstack.conf")
	}
	f.group = p.Group
	dir := filepath.Join(p.Within(f.store), "trees", hostPlatform())
	fd, err := openAsUser(dir, f)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return bindReadOnly(fd, dir, f.prefixRoot)
}

// bindReadOnly mounts the directory behind fd at target, read-only, nosuid and
// nodev. Doing it twice in one namespace mounts once.
func bindReadOnly(fd int, name, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return refuse(api.ExitUnreachable, "prefix root %s cannot be made on this node: %w; next: the administrator creates it", target, err)
	}
	self := "/proc/self/fd/" + strconv.Itoa(fd)
	if same, err := sameDirectory(fd, target); err != nil {
		return refuse(api.ExitUnreachable, "prefix root %s: %w", target, err)
	} else if same {
		return nil
	}
	if err := unix.Mount(self, target, "", unix.MS_BIND, ""); err != nil {
		return refuse(api.ExitUnreachable, "%s cannot be mounted at %s: %w", name, target, err)
	}
	const flags = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("", target, "", flags, ""); err != nil {
		// Not read-only is not acceptable: take it away again.
		return errors.Join(
			refuse(api.ExitUnreachable, "%s cannot be made read-only at %s: %w", name, target, err),
			unix.Unmount(target, unix.MNT_DETACH))
	}
	return nil
}

// sameDirectory compares without asking a server that may refuse root: cached
// attributes suffice, the directory was opened a moment ago.
func sameDirectory(fd int, path string) (bool, error) {
	var a, b unix.Statx_t
	const mask = unix.STATX_INO
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, mask, &a); err != nil {
		return false, err
	}
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, mask, &b); err != nil {
		if errors.Is(err, unix.EACCES) {
			// The prefix root itself is always root's to see; what refuses is
			// what an earlier step mounted there.
			return true, nil
		}
		return false, err
	}
	return a.Ino == b.Ino && a.Dev_major == b.Dev_major && a.Dev_minor == b.Dev_minor, nil
}

// openTimeout bounds how long the child may take to open one directory; the
// shim bounds the whole of attach.
const openTimeout = 8 * time.Second

// openAsUser lets a child with the job user's identity open dir and returns the
// descriptor it sent.
func openAsUser(dir string, f attachFlags) (int, error) {
	if f.uid < 0 || f.gid < 0 {
		return -1, refuse(api.ExitUsage, "attach needs --uid and --gid")
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socketpair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "attach"), os.NewFile(uintptr(pair[1]), "open")
	defer ours.Close()
	cmd := exec.Command("/proc/self/exe", "spank", "open", "--dir="+dir, "--owner="+strconv.Itoa(f.owner),
		"--uid="+strconv.Itoa(f.uid), "--gid="+strconv.Itoa(f.gid), "--groups="+f.groups, "--group="+f.group)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs}
	var said limited
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// Whatever still holds its stderr does not delay the verdict.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		theirs.Close()
		return -1, fmt.Errorf("starting the opening child: %w", err)
	}
	theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return -1, fmt.Errorf("socketpair: %w", err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(openTimeout)); err != nil {
		return -1, err
	}
	fd, err := receiveFD(conn.(*net.UnixConn))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The child may hang in the kernel for good; it is killed and not waited for.
		return -1, errors.Join(refuse(api.ExitUnreachable,
			"store: opening %s did not finish within %s: the storage does not answer; next: try another node (sbatch --exclude=…) and tell the administrator", dir, openTimeout),
			cmd.Process.Kill())
	}
	waitErr := cmd.Wait()
	if err == nil {
		return fd, nil
	}
	if said.Len() > 0 {
		code := api.ExitUnreachable
		var exit *exec.ExitError
		if errors.As(waitErr, &exit) && exit.ExitCode() > 0 {
			code = exit.ExitCode()
		}
		return -1, refuse(code, "%s", strings.TrimSpace(said.String()))
	}
	return -1, refuse(api.ExitUnreachable, "%s could not be opened: %w", dir, errors.Join(err, waitErr))
}

// receiveFD reads one byte and the descriptor that comes with it.
func receiveFD(c *net.UnixConn) (int, error) {
	buf, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil {
		return -1, err
	}
	if n == 0 {
		return -1, io.EOF
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return -1, err
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err == nil && len(fds) == 1 {
			unix.CloseOnExec(fds[0])
			return fds[0], nil
		}
	}
	return -1, errors.New("the opening child sent no descriptor")
}

// limited keeps the first bytes of what a child says.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if room := 4096 - l.Len(); room > 0 {
		l.Builder.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

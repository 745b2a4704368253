package helper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/hooks/squashfuse"
)

// watch starts the server and waits for its end, as root. A server that its user stops is
// killed: stopped, it would not see that its mount is gone and stay for good, and who waits
// in the kernel for its answer could not be killed, which drains the node. Watcher and
// server end together. The watcher keeps neither the image nor /dev/fuse.
func watch(program *os.File, args ...string) error {
	runtime.LockOSThread() // the server ends with the thread that started it
	image, fuse := os.NewFile(serveImageFD, "image"), os.NewFile(serveFuseFD, "/dev/fuse")
	cmd := exec.Command("/proc/self/exe", append([]string{"spank", "server", "--watcher=" + strconv.Itoa(os.Getpid())}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr = []string{}, "/", os.Stderr
	cmd.ExtraFiles = []*os.File{image, fuse, program}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	err := cmd.Start()
	if err = errors.Join(err, image.Close(), fuse.Close(), program.Close()); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	debug.FreeOSMemory()
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(cmd.Process.Pid, &status, unix.WUNTRACED, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("waiting for the server: %w", err)
		}
		if !status.Stopped() {
			return nil // what was wrong the server has said
		}
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("ending a server that was stopped: %w", err)
		}
	}
}

// becomeServer is the process that watch starts.
func becomeServer(args []string) error {
	fl := newFlags("server")
	program, watcher := fl.String("program", "", ""), fl.Int("watcher", -1, "")
	uid, gid := fl.Int("uid", -1, ""), fl.Int("gid", -1, "")
	groups := fl.String("groups", "", "")
	if err := parse(fl, args); err != nil {
		return err
	}
	runtime.LockOSThread() // to which the signal below belongs
	if err := takeIdentity(*uid, *gid, *groups); err != nil {
		return err
	}
	// The change of identity has cleared it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tying the server to its watcher: %w", err)
	}
	if os.Getppid() != *watcher {
		return errors.New("the server's watcher has ended")
	}
	unix.CloseOnExec(serveProgramFD)
	return squashfuse.ExecHidden(os.NewFile(serveProgramFD, *program), serveImageFD, serveFuseFD)
}

package attach

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is the first argument with which asUser starts this program again; main
// hands what follows to User.
const Command = "attach-as-user"

// exitBusy says that the loop device is somebody else's by now.
const exitBusy = 75

// asUser starts this program as the user; file becomes its descriptor 3. The
// program may lie where the user may not go: the kernel knows it as the caller's.
func asUser(opt Options, args []string, file *os.File) error {
	var said strings.Builder
	cmd := exec.Command("/proc/self/exe", append([]string{Command}, args...)...)
	cmd.Env, cmd.Stderr, cmd.ExtraFiles = []string{"GOMAXPROCS=1"}, &said, []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: opt.User, Gid: opt.Group, Groups: []uint32{}}, Pdeathsig: syscall.SIGKILL,
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitBusy {
		return unix.EBUSY
	}
	if err != nil {
		return fmt.Errorf("as user %d: %w: %s", opt.User, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// User is the user's process; its result is the exit code.
func User(args []string) int {
	const inherited = 3
	err := fmt.Errorf("%s: unknown arguments %q", Command, args)
	switch {
	case len(args) == 3 && args[0] == "configure":
		err = loop(os.NewFile(inherited, "loop device"), args[1], args[2] == "true")
	case len(args) == 2 && args[0] == "send":
		err = send(inherited, args[1])
	}
	if errors.Is(err, unix.EBUSY) {
		return exitBusy
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// send opens the image and hands its descriptor over.
func send(socket int, image string) error {
	f, err := os.Open(image)
	if err != nil {
		return err
	}
	if err := check(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(f.Fd())), nil, 0)
	return errors.Join(err, f.Close())
}

// openAs is the image, opened by the user.
func openAs(image string, opt Options) (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket")
	err = asUser(opt, []string{"send", image}, theirs)
	if err = errors.Join(err, theirs.Close()); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(ours.Fd()), make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err = errors.Join(err, ours.Close()); err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("no descriptor came"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(errors.New("no descriptor came"), err)
	}
	return os.NewFile(uintptr(fds[0]), image), nil
}

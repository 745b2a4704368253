package helper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/hooks/outside"
	"github.com/hpcenv/hpcenv/hooks/squashfuse"
)

// Descriptors of the process that becomes a server.
const (
	serveImageFD = 3 + iota
	serveFuseFD
	serveGateFD
)

// serveProgramFD is, in the server itself, the program.
const serveProgramFD = serveGateFD

// serveTime bounds how long the first answer of a server is waited for.
const serveTime = 4 * time.Second

// server is a process that shows an image.
type server struct {
	cmd  *exec.Cmd
	gate *os.File // closed without a byte: it ends
	said *os.File // what it writes to stderr
}

// startServer starts a process that becomes the server as the job's user, who alone may
// read the image on storage that refuses root, and who cannot trace it. It is in a session of its own, in the node's
// mounts and in no cgroup of the job: it is nobody's but the mount's, and ends with that.
// Where it cannot get into the node's mounts it is in a copy of the step's as they were
// before; in those with the mount it would keep what it is to end with.
func (f *attachFlags) startServer(program string, image, fuse *os.File) (*server, error) {
	gate, open, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("hpcenv-server", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(err, gate.Close(), open.Close())
	}
	s := &server{gate: open, said: os.NewFile(uintptr(fd), "stderr of "+program)}
	s.cmd = exec.Command("/proc/self/exe", "spank", "serve", "--program="+program,
		"--uid="+strconv.Itoa(f.uid), "--gid="+strconv.Itoa(f.gid), "--groups="+f.groups)
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = []string{}, "/", s.said
	s.cmd.ExtraFiles = []*os.File{image, fuse, gate}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS}
	err = s.cmd.Start()
	if err = errors.Join(err, gate.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the server: %w", err), open.Close(), s.said.Close())
	}
	return s, nil
}

// ready returns when the image that is mounted at target answers. What does not is
// unmounted, and its server ended.
func (s *server) ready(target string) error {
	_, err := s.gate.Write([]byte{0})
	err = errors.Join(err, s.gate.Close())
	if err == nil {
		answered := make(chan error, 1)
		go func() {
			_, err := os.ReadDir(target)
			answered <- err
		}()
		select {
		case err = <-answered:
		case <-time.After(serveTime):
			err = fmt.Errorf("it did not answer within %s", serveTime)
		}
	}
	if err == nil {
		return s.said.Close()
	}
	err = errors.Join(err, unix.Unmount(target, unix.MNT_DETACH))
	return errors.Join(err, s.end())
}

// end ends a server that does not serve, and tells what it said.
func (s *server) end() error {
	err := s.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case wait := <-ended:
		var exit *exec.ExitError
		if !errors.As(wait, &exit) { // killed, or ended by itself: what it said tells
			err = errors.Join(err, wait)
		}
	case <-time.After(time.Second):
		err = errors.Join(err, fmt.Errorf("process %d cannot be killed", s.cmd.Process.Pid))
	}
	b := make([]byte, 4096)
	n, readErr := s.said.ReadAt(b, 0)
	if readErr != nil && !errors.Is(readErr, io.EOF) {
		err = errors.Join(err, readErr)
	}
	if text := strings.TrimSpace(string(b[:n])); text != "" {
		err = errors.Join(err, fmt.Errorf("it says: %s", strings.ReplaceAll(text, "\n", "; ")))
	}
	return errors.Join(err, s.said.Close())
}

// giveUp ends a server that was not told to serve.
func (s *server) giveUp() error { return errors.Join(s.gate.Close(), s.end()) }

// serve is the process that startServer starts: it starts the server, and stays root's.
func serve(args []string) error {
	fl := newFlags("serve")
	program, apart := fl.String("program", "", ""), fl.Bool(strings.TrimLeft(outside.Flag, "-"), false, "")
	uid, gid := fl.Int("uid", -1, ""), fl.Int("gid", -1, "")
	groups := fl.String("groups", "", "")
	if err := parse(fl, args); err != nil {
		return err
	}
	// It may execute the program again, with the same descriptors. From a cgroup that it
	// cannot leave it goes with the step, and the next step mounts anew.
	if err := outside.Leave(*apart); err != nil {
		fmt.Fprintln(os.Stderr, "note:", err)
	}
	gate := os.NewFile(serveGateFD, "gate")
	if _, err := io.ReadFull(gate, make([]byte, 1)); err != nil {
		return nil // it was not mounted, which attach tells
	}
	hidden, err := squashfuse.Hidden(*program)
	if err = errors.Join(err, gate.Close()); err != nil {
		return err
	}
	return watch(hidden, "--uid="+strconv.Itoa(*uid), "--gid="+strconv.Itoa(*gid), "--groups="+*groups, "--program="+*program)
}

package wrapper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/squashfuse"
)

// A user may not mount squashfs in the kernel, but FUSE in a namespace of its own. The
// program that serves it sits in a copy of the mount namespace that was made before the
// mount: when the last program leaves the namespace, the kernel takes the mount away,
// which ends the server; and a holder that is killed takes nothing from those who run.

// Descriptors of a server.
const (
	serveImageFD = 3 + iota
	serveFuseFD
	serveGateFD
)

// serveImage mounts the image at the place's prefix.
func serveImage(p *place, img *os.File) error {
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return api.Errorf(api.ExitUnreachable, "FUSE: %v\nnext: ask the administrator to load the module fuse and to let everybody use /dev/fuse", err)
	}
	s, err := startServer(p, img, fuse)
	if err != nil {
		return errors.Join(err, fuse.Close())
	}
	err = squashfuse.Mount(fuse, p.Image, p.Prefix, os.Getuid(), os.Getgid())
	if err != nil {
		err = api.Errorf(api.ExitUnreachable, "FUSE cannot be mounted in a user namespace here: %v\nnext: run it in a job (sbatch or srun --env-lock), or have the administrator attach the environments at boot (kernels before 4.18 cannot)", err)
	}
	// From here on the server alone has the other end of the mount.
	if err = errors.Join(err, fuse.Close()); err != nil {
		return errors.Join(err, s.giveUp())
	}
	return s.ready(p)
}

// server is a program that serves an image.
type server struct {
	cmd  *exec.Cmd
	gate *os.File
	said *os.File // what it writes to stderr
}

// startServer starts a process that becomes the server when it is told to.
func startServer(p *place, img, fuse *os.File) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	gate, open, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("hpcenv-server", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(err, gate.Close(), open.Close())
	}
	s := &server{gate: open, said: os.NewFile(uintptr(fd), "stderr of "+p.Server)}
	s.cmd = exec.Command(self, ServeWord, p.Server)
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = []string{}, "/", s.said
	s.cmd.ExtraFiles = []*os.File{img, fuse, gate}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Setsid: true}
	err = s.cmd.Start()
	if err = errors.Join(err, gate.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("attaching: the server of the image: %w", err), open.Close(), s.said.Close())
	}
	return s, nil
}

// becomeServer is the process that startServer starts.
func becomeServer(program string) (int, error) {
	gate := os.NewFile(serveGateFD, "gate")
	if _, err := io.ReadFull(gate, make([]byte, 1)); err != nil {
		return api.ExitFailed, nil // it was not mounted, which the holder tells
	}
	if err := gate.Close(); err != nil {
		return failed(err)
	}
	return failed(squashfuse.Exec(program, serveImageFD, serveFuseFD))
}

// ready returns when the mounted image answers.
func (s *server) ready(p *place) error {
	_, err := s.gate.Write([]byte{0})
	if err = errors.Join(err, s.gate.Close()); err != nil {
		return errors.Join(err, unix.Unmount(p.Prefix, unix.MNT_DETACH))
	}
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	// It waits for the server's first words, and fails if the server ends without.
	_, err = os.ReadDir(p.Prefix)
	if err == nil {
		return s.said.Close()
	}
	// What does not serve is of no use to anybody.
	gone := unix.Unmount(p.Prefix, unix.MNT_DETACH)
	if squashfuse.Ended(err) {
		err = errors.Join(errors.New("it has ended"), <-ended)
	}
	return api.Errorf(api.ExitUnreachable, "%s does not show the environment's image %s: %v%s\nnext: is it squashfuse 0.1.103 or newer, with libfuse 3 and zstd? else tell the administrator", p.Server, p.Image, errors.Join(err, gone), s.words())
}

// words are the last ones that the server said.
func (s *server) words() string {
	b := make([]byte, 4096)
	n, _ := s.said.ReadAt(b, 0) // its end is no error
	s.said.Close()
	text := strings.TrimSpace(string(b[:n]))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return " (it says: " + lines[len(lines)-1] + ")"
}

// giveUp ends a server that was not told to serve.
func (s *server) giveUp() error {
	err := errors.Join(s.gate.Close(), s.said.Close())
	var exit *exec.ExitError
	if wait := s.cmd.Wait(); !errors.As(wait, &exit) {
		err = errors.Join(err, wait)
	}
	return err
}

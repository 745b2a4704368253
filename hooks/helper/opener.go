package helper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/fdmsg"
)

// attachTime bounds how long attaching waits in all, for what the child opens and for
// other steps that are at the same image. It is below the shim's own bound on attach, so
// that what is waited for is named.
const attachTime = 8 * time.Second

// opener is the child that opens things as the user.
type opener struct {
	store string
	cmd   *exec.Cmd
	conn  *net.UnixConn
	said  limited
	ended bool
}

// startOpener starts a child that becomes the job's user and opens what these
// environments lie in; each = one by one.
func startOpener(store string, ids []string, each bool, f *attachFlags) (*opener, error) {
	if f.uid < 0 || f.gid < 0 {
		return nil, refuse(api.ExitUsage, "attach needs --uid and --gid")
	}
	c := &opener{store: store}
	var theirs *os.File
	var err error
	if c.conn, theirs, err = fdmsg.Pair(); err != nil {
		return nil, err
	}
	c.cmd = exec.Command("/proc/self/exe", "spank", "open", "--root="+store, "--platform="+hostPlatform(), "--owner="+strconv.Itoa(f.owner),
		"--uid="+strconv.Itoa(f.uid), "--gid="+strconv.Itoa(f.gid), "--groups="+f.groups, "--group="+f.group,
		"--ids="+strings.Join(ids, ","), "--each="+strconv.FormatBool(each),
		"--have="+strings.Join(f.knownIDs(), ","), "--trees="+strconv.FormatBool(f.delivery == asTree))
	c.cmd.Env = []string{}
	c.cmd.Dir = "/"
	c.cmd.ExtraFiles = []*os.File{theirs}
	c.cmd.Stderr = &c.said
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// Whatever still holds its stderr does not delay the verdict.
	c.cmd.WaitDelay = time.Second
	err = c.cmd.Start()
	if err = errors.Join(err, theirs.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the opening child: %w", err), c.conn.Close())
	}
	return c, c.conn.SetDeadline(f.end)
}

// next is what the child offers next; the caller closes the file.
func (c *opener) next() (*offer, *os.File, error) {
	one := new(offer)
	f, err := fdmsg.Receive(c.conn, one)
	if err == nil && f == nil && !one.End && !one.Copied {
		err = errors.New("the opening child sent no descriptor")
	}
	if err != nil {
		return nil, nil, c.verdict(err)
	}
	return one, f, nil
}

// ask has the child answer about a loop device.
func (c *opener) ask(r request, device *os.File) (*answer, error) {
	told := new(answer)
	err := fdmsg.Send(c.conn, &r, device)
	if err == nil {
		_, err = fdmsg.Receive(c.conn, told)
	}
	if err != nil {
		return nil, c.verdict(err)
	}
	return told, nil
}

// tree has the child open the tree of the environment whose image it has offered; nil: there
// is none. The caller closes it.
func (c *opener) tree() (*os.File, error) {
	told := new(answer)
	err := fdmsg.Send(c.conn, &request{Tree: true}, nil)
	if err != nil {
		return nil, c.verdict(err)
	}
	f, err := fdmsg.Receive(c.conn, told)
	if err != nil {
		return nil, c.verdict(err)
	}
	return f, nil
}

// verdict is why the child did not do what it should.
func (c *opener) verdict(err error) error {
	c.ended = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The child may hang in the kernel for good; it is killed and not waited for.
		return errors.Join(refuse(api.ExitUnreachable,
			"the store %s does not answer on this node: what the environment lies in could not be opened and read within %s; next: exclude the node (--exclude) and tell the administrator", c.store, attachTime),
			c.cmd.Process.Kill())
	}
	waitErr := c.cmd.Wait()
	if c.killed() {
		// A step that is ended loses its processes one by one, this one a moment later. A
		// verdict in between would outrank the exit code of who ended the step.
		time.Sleep(killedTogether)
	}
	if c.said.Len() > 0 {
		code := api.ExitUnreachable
		var exit *exec.ExitError
		if errors.As(waitErr, &exit) && exit.ExitCode() > 0 {
			code = exit.ExitCode()
		}
		return refuse(code, "%s", strings.TrimSpace(c.said.String()))
	}
	return refuse(api.ExitUnreachable, "%s could not be opened: %w", c.store, errors.Join(err, waitErr))
}

// killedTogether is how long after its child this process may have to wait to be killed.
const killedTogether = time.Second

// killed tells whether another process killed the child.
func (c *opener) killed() bool {
	if c.cmd.ProcessState == nil {
		return false // it could not be waited for
	}
	state, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && state.Signaled() && state.Signal() == syscall.SIGKILL
}

// close ends the child, which has nothing more to do.
func (c *opener) close() error {
	err := c.conn.Close()
	if c.ended {
		return err
	}
	// It is at its end, or waits for a word that does not come.
	if kill := c.cmd.Process.Kill(); !errors.Is(kill, os.ErrProcessDone) {
		err = errors.Join(err, kill)
	}
	var exit *exec.ExitError
	if wait := c.cmd.Wait(); !errors.As(wait, &exit) { // killed or not is the same here
		err = errors.Join(err, wait)
	}
	return err
}

// limited keeps the first bytes of what a child says.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if room := 4096 - l.Len(); room > 0 {
		l.Builder.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// Package fdmsg passes small JSON messages, each with at most one open file, between
// processes that share a Unix socket of packets (SOCK_SEQPACKET).
//
// Enters: a value and a file. Leaves: the same on the other side; the file there is
// another descriptor of the same open file, closed on exec.
package fdmsg

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Max bounds one message, in bytes: paths and an image's record.
const Max = 16 << 10

// Pair makes a connection and the file of its other end, for a child.
func Pair() (*net.UnixConn, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socketpair")
	c, err := Conn(os.NewFile(uintptr(pair[0]), "socketpair"))
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return c, theirs, nil
}

// Conn makes a connection of one end of a socket pair. The file is closed.
func Conn(f *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("socketpair: %T", conn), conn.Close())
	}
	return c, nil
}

// Send sends v and, unless it is nil, the descriptor of f in one packet.
func Send(c *net.UnixConn, v any, f *os.File) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var rights []byte
	if f != nil {
		rights = unix.UnixRights(int(f.Fd()))
	}
	_, _, err = c.WriteMsgUnix(b, rights, nil)
	return err
}

// Receive reads one packet into v; io.EOF: the other side is gone. The file is nil if
// none came with it, else the caller closes it.
func Receive(c *net.UnixConn, v any) (*os.File, error) {
	buf, oob := make([]byte, Max), make([]byte, unix.CmsgSpace(4))
	n, oobn, flags, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	f, err := received(oob[:oobn])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("a message was cut short")
	}
	if err == nil {
		err = json.Unmarshal(buf[:n], v)
	}
	if err != nil && f != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, err
}

func received(oob []byte) (*os.File, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) == 0 {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("%d descriptors came with a message: %w", len(fds), errors.Join(err, unix.EBADMSG))
	}
	unix.CloseOnExec(fds[0])
	return os.NewFile(uintptr(fds[0]), "received"), nil
}

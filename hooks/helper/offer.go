package helper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/envs/image"
)

// offer is what the opening child, which is the user, sends with a descriptor; root
// answers offers of images with requests until one is done.
type offer struct {
	// Name is the path that the descriptor was opened by.
	Name string
	// ID of the environment that it is; "" = the directory of all trees.
	ID string `json:",omitempty"`
	// Image is what was published of an image; nil = it is a directory.
	Image *image.Record `json:",omitempty"`
	// Copied: root has a copy of it, and no descriptor comes.
	Copied bool `json:",omitempty"`
	// End: there is no more, and no descriptor.
	End bool `json:",omitempty"`
}

// request is what root asks of the child, about the loop device that comes with it.
type request struct {
	// Configure: show the image in it. Else: is it the image's already?
	Configure bool `json:",omitempty"`
	// Read: send what this file holds, its path being below the store's root; no device
	// comes with it.
	Read string `json:",omitempty"`
	// Done: the image is mounted; no device comes with it.
	Done bool `json:",omitempty"`
}

// answer to a request.
type answer struct {
	// Yes: it is the image's device (now); the file that was asked for is there, and comes
	// with the answer unless it is long.
	Yes bool
	// Taken: another process has configured the device meanwhile.
	Taken bool `json:",omitempty"`
}

// maxMessage bounds one message, in bytes: paths and an image's record.
const maxMessage = 16 << 10

// sendMessage sends v and, unless it is nil, the descriptor of f in one packet.
func sendMessage(c *net.UnixConn, v any, f *os.File) error {
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

// receiveMessage reads one packet into v; io.EOF: the other side is gone. The file is nil
// if none came with it.
func receiveMessage(c *net.UnixConn, v any) (*os.File, error) {
	buf, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	n, oobn, flags, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	f, err := receivedFile(oob[:oobn])
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

func receivedFile(oob []byte) (*os.File, error) {
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

// unixConn makes a connection of one end of a socket pair. The file is closed.
func unixConn(f *os.File) (*net.UnixConn, error) {
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

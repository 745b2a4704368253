package wrapper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/fdmsg"
)

// place is an environment that is to appear at its prefix; it travels to a holder.
type place struct {
	Prefix string
	// Trees is the directory of trees that has it. "" = it is the image whose open file
	// comes along.
	Trees string `json:",omitempty"`
	// Image is the path that it was opened by, for messages; Server is the program that
	// shows it (squashfuse).
	Image  string `json:",omitempty"`
	Server string `json:",omitempty"`
}

// reply tells how it went; the zero value: the environment is there.
type reply struct {
	Code    int    `json:",omitempty"`
	Message string `json:",omitempty"`
}

func replyOf(err error) *reply {
	if err == nil {
		return &reply{}
	}
	code, _ := failed(err)
	return &reply{Code: code, Message: err.Error()}
}

func (r *reply) err() error {
	if r.Message == "" {
		return nil
	}
	return api.Errorf(r.Code, "%s", r.Message)
}

// attachLimit bounds what a holder does for one place: it mounts, and has a program read
// the beginning of a file.
const attachLimit = 20 * time.Second

// ask has a holder attach a place. An error of class errGone: there is no holder at the
// other side any more.
func ask(ctx context.Context, c *net.UnixConn, p *place, image *os.File) error {
	end := time.Now().Add(attachLimit)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	if err := c.SetDeadline(end); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Now()) })
	defer stop()
	var r reply
	err := fdmsg.Send(c, p, image)
	if err == nil {
		_, err = fdmsg.Receive(c, &r)
	}
	switch {
	case err == nil:
		return r.err()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return api.Errorf(api.ExitUnreachable, "attaching %s did not finish within %s: the storage does not answer\nnext: does ls %s answer? tell the administrator", p.Prefix, attachLimit, p.from())
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

// errGone: the process that keeps the namespace has ended.
var errGone = errors.New("attaching: the process that keeps the namespace has ended")

func (p *place) from() string {
	if p.Trees != "" {
		return p.Trees
	}
	return p.Image
}

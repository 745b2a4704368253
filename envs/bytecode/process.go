package bytecode

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// helloTime bounds the start of the interpreter, answerTime one source.
	helloTime  = 60 * time.Second
	answerTime = 120 * time.Second
	// maxAnswer bounds what is taken for one source, in bytes.
	maxAnswer = 512 << 20
)

// process is one running driver.
type process struct {
	cmd    *exec.Cmd
	in     *bufio.Writer
	pipe   io.WriteCloser
	out    *bufio.Reader
	errout *tail
	cancel context.CancelFunc
	// watch ends the process if an answer does not come.
	watch *time.Timer
	hello struct{ name, tag, magic, hash string }
}

// start starts the driver under the private copy of python at dir. What runs but
// does not greet is an ErrInterpreter error; a host that cannot start anything
// now is not.
func (c *compiler) start(ctx context.Context, box *Sandbox, dir string) (_ *process, err error) {
	ctx, cancel := context.WithCancel(ctx)
	binds := [][2]string{{filepath.Join(dir, "python"), "/python"}, {filepath.Join(dir, "driver"), "/driver"}}
	// A program that is linked with its libpython finds it relative to itself
	// ($ORIGIN); the loader knows that place from /proc only, which is not there.
	cmd, done, err := box.command(ctx, binds, "/usr/bin/env", "-i", "PYTHONHASHSEED=0", "LD_LIBRARY_PATH=/python/lib",
		"/python/bin/python"+c.short, "-S", "-s", "-B", "-W", "ignore", "/driver/driver.py")
	if err != nil {
		cancel()
		return nil, err
	}
	defer done()
	p := &process{cmd: cmd, cancel: cancel, errout: &tail{}}
	cmd.Stderr = p.errout
	var out io.ReadCloser
	p.pipe, err = cmd.StdinPipe()
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	p.in, p.out = bufio.NewWriterSize(p.pipe, 64<<10), bufio.NewReaderSize(out, 64<<10)
	p.watch = time.AfterFunc(helloTime, cancel)
	if err := p.greet(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInterpreter, p.fail(err))
	}
	return p, nil
}

// greet reads what the driver says of itself.
func (p *process) greet() error {
	kind, data, err := p.answer()
	if err != nil {
		return err
	}
	f := strings.Split(string(data), "\n")
	if kind != 'v' || len(f) != 4 {
		return fmt.Errorf("the driver began with %.60q", data)
	}
	p.hello.name, p.hello.tag, p.hello.magic, p.hello.hash = f[0], f[1], f[2], f[3]
	if f[0] != "cpython" {
		return fmt.Errorf("this is %.40q; byte-code is made for CPython only", f[0])
	}
	return nil
}

// ask sends a request: its kind and what goes with it. flush sends what waits.
func (p *process) ask(kind byte, source []byte) error {
	var head [5]byte
	head[0] = kind
	binary.LittleEndian.PutUint32(head[1:], uint32(len(source)))
	if _, err := p.in.Write(head[:]); err != nil {
		return err
	}
	_, err := p.in.Write(source)
	return err
}

func (p *process) flush() error { return p.in.Flush() }

// answer reads one answer within the time for one.
func (p *process) answer() (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(p.out, head[:]); err != nil {
		return 0, nil, fmt.Errorf("the driver ended early: %w", err)
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxAnswer {
		return 0, nil, fmt.Errorf("the driver announced %d bytes", n)
	}
	// Grown as bytes come: the announcement alone takes no memory.
	var buf bytes.Buffer
	if n <= 1<<20 {
		buf.Grow(int(n))
	}
	if _, err := io.CopyN(&buf, p.out, int64(n)); err != nil {
		return 0, nil, fmt.Errorf("the driver ended early: %w", err)
	}
	p.watch.Reset(answerTime)
	return head[0], buf.Bytes(), nil
}

// fail ends the process and says why, with what it wrote to its standard error.
func (p *process) fail(why error) error {
	p.watch.Stop()
	p.cancel()
	werr := p.cmd.Wait()
	if text := p.errout.String(); text != "" {
		why = fmt.Errorf("%w: %s", why, text)
	}
	return errors.Join(why, werr)
}

// close ends the process in peace.
func (p *process) close() error {
	err := errors.Join(p.in.Flush(), p.pipe.Close())
	if err == nil {
		_, err = io.Copy(io.Discard, p.out)
	}
	p.watch.Reset(helloTime)
	if err != nil {
		return p.fail(err)
	}
	err = p.cmd.Wait()
	p.watch.Stop()
	p.cancel()
	if err != nil {
		return fmt.Errorf("the driver's end: %w: %s", err, p.errout.String())
	}
	return nil
}

// tail keeps the beginning of what is written, for messages.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 2000 - len(t.buf); room > 0 {
		t.buf = append(t.buf, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf), "?"))
}

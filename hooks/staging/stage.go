package staging

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/hooks/outside"
)

// Exit codes of the copier, for the error classes.
var codes = map[int]error{10: ErrSource, 11: ErrDisk, 12: ErrRoom, 13: ErrForeign}

// Get is the finished copy of an image, open for reading; the caller closes it. source is
// the image as the user opened it. command is the program that calls Copy, before its
// arguments. ErrBusy: the copy is being made and will serve a later launch.
func (c *Config) Get(source *os.File, rec *image.Record, command ...string) (*os.File, error) {
	if !isDigest(rec.SHA256) || rec.Size < 0 {
		return nil, fmt.Errorf("%w: it was published without a sha256", ErrSource)
	}
	d, err := openDir(c.Dir)
	if err != nil {
		return nil, err
	}
	f, err := c.get(d, source, rec, command)
	if err = errors.Join(err, d.Close()); err != nil && f != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, err
}

func (c *Config) get(d *dir, source *os.File, rec *image.Record, command []string) (*os.File, error) {
	memory, err := inMemory(d.File)
	if err != nil {
		return nil, err
	}
	if memory && !c.Memory {
		return nil, fmt.Errorf("%w: %s (local_memory=yes in plugstack.conf allows it)", ErrMemory, c.Dir)
	}
	for end := time.Now().Add(c.Wait); ; time.Sleep(5 * time.Millisecond) {
		f, err := d.find(rec.SHA256, rec.Size)
		if f != nil && err == nil {
			if err = d.used(rec.SHA256); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		lock, err := d.tryLock(rec.SHA256 + lockSuffix)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			turn, err := d.turn()
			if err == nil && turn != nil {
				err = errors.Join(c.start(d, source, rec, []*os.File{lock, turn}, end, command), turn.Close())
			}
			if err = errors.Join(err, lock.Close()); err != nil {
				return nil, err
			}
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("%w (waited %s)", ErrBusy, c.Wait.Round(100*time.Millisecond))
		}
	}
}

// atOnce bounds how many copiers a node has, whatever launches ask for: they are root's, and
// no job's limits hold for them.
const atOnce = 4

// turn is one of the locks that copiers have; nil = all are at work.
func (d *dir) turn() (*os.File, error) {
	for i := range atOnce {
		f, err := d.tryLock(fmt.Sprintf("turn-%d%s", i, lockSuffix))
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// start has a process make the copy, and waits for it until end. The locks are the
// process's, too, and outlast this one.
func (c *Config) start(d *dir, source *os.File, rec *image.Record, locks []*os.File, end time.Time, command []string) error {
	// It was finished between looking and locking.
	if f, err := d.find(rec.SHA256, rec.Size); f != nil || err != nil {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return err
	}
	said, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], append(command[1:], "--sha256="+rec.SHA256, "--size="+strconv.FormatInt(rec.Size, 10), "--budget="+strconv.FormatInt(c.Budget, 10))...)
	cmd.Env, cmd.Dir, cmd.Stderr = []string{}, "/", theirs
	cmd.ExtraFiles = append([]*os.File{source, d.File}, locks...)
	// In a session of its own: what ends the launch does not end it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	if err = errors.Join(err, theirs.Close()); err != nil {
		return errors.Join(fmt.Errorf("starting the copying: %w", err), said.Close())
	}
	done := make(chan error, 1)
	go func() {
		text, rerr := io.ReadAll(io.LimitReader(said, 4096))
		done <- errors.Join(verdict(cmd.Wait(), string(text)), rerr, said.Close())
	}()
	select {
	case err = <-done:
		return err
	case <-time.After(time.Until(end)):
		return nil // it goes on; the caller sees that there is no time left
	}
}

func verdict(err error, text string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if class := codes[exit.ExitCode()]; class != nil {
		return &said{class, strings.TrimSpace(text)}
	}
	return fmt.Errorf("the copying ended (%w): %s", err, strings.TrimSpace(text))
}

// said is an error of a class as the copier told it.
type said struct {
	class error
	text  string
}

func (s *said) Error() string { return s.text }
func (s *said) Unwrap() error { return s.class }

// Copy is the copier: descriptor 3 is the image as the user opened it, 4 the directory, 5
// the digest's lock, 6 the one of its turn. It returns the exit code.
func Copy(args []string) int {
	fl := flag.NewFlagSet("stage", flag.ContinueOnError)
	j := &job{source: os.NewFile(3, "source"), d: &dir{os.NewFile(4, "copies")}}
	fl.StringVar(&j.sha, "sha256", "", "")
	fl.Int64Var(&j.size, "size", -1, "")
	fl.Int64Var(&j.budget, "budget", 0, "")
	apart := fl.Bool(strings.TrimLeft(outside.Flag, "-"), false, "")
	if err := fl.Parse(args); err != nil {
		return 2 // said by the flag set
	}
	if !isDigest(j.sha) || j.size < 0 {
		fmt.Fprintln(os.Stderr, "stage: --sha256 and --size are needed")
		return 2
	}
	signal.Ignore(syscall.SIGPIPE) // who started it may be gone, and with it who listens
	// It may execute the program again, with the same descriptors. What it could not leave
	// hinders nothing: killed, it leaves a part that the next removes.
	stays := outside.Leave(*apart)
	for _, fd := range []int{3, 4, 5, 6} {
		syscall.CloseOnExec(fd)
	}
	err := j.make()
	if err == nil {
		return 0
	}
	for code, class := range codes {
		if errors.Is(err, class) {
			fmt.Fprintln(os.Stderr, err)
			return code
		}
	}
	fmt.Fprintln(os.Stderr, errors.Join(err, stays))
	return 1
}

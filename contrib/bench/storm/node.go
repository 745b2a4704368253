package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What nodes and ranks say, one byte each.
const (
	ready = 'r'
	done  = 'd'
)

// nodeWaits is a descriptor that a node inherits: it ends when all nodes are to
// begin.
const nodeWaits = 3

// report is what a node says in the end. Times are those of the kernel's monotonic
// clock, which all processes share.
type report struct {
	// Attached and Activated are of hpcenv's parts; 0 = there are none.
	Attached, Activated, Ended time.Duration
}

// node is the process of a node, in a mount namespace of its own. It reads its
// order, says when it is ready, does its work when all nodes are to begin,
// reports, and gives back what it holds when its input ends.
func node(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	var o order
	if err := decoder.Decode(&o); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	if err := o.prepare(); err != nil {
		return err
	}
	ranks, err := startRanks(&o)
	if err != nil {
		return errors.Join(err, o.end())
	}
	if _, err := out.Write([]byte{ready}); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.NewFile(nodeWaits, "waits")); err != nil {
		return err
	}
	var r report
	if err = o.begin(&r); err == nil {
		err = ranks.work()
	}
	r.Ended = now()
	if err := errors.Join(err, ranks.end()); err != nil {
		return err // what is mounted ends with the namespace
	}
	if err := json.NewEncoder(out).Encode(r); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, io.MultiReader(decoder.Buffered(), in)); err != nil {
		return err
	}
	return errors.Join(o.check(), o.end())
}

func now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // Linux has that clock
	}
	return time.Duration(ts.Nano())
}

// rankSet are the processes of a node's ranks.
type rankSet struct {
	commands []*exec.Cmd
	stderr   []*bytes.Buffer
	says     *os.File // what all say
	begin    *os.File // closed when they are to begin
	programs bool     // not started before
	begun    bool
}

func startRanks(o *order) (*rankSet, error) {
	s := &rankSet{programs: len(o.Program) > 0}
	if o.Contender == packRead {
		return s, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	says, theySay, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	theyWait, begin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.says, s.begin = says, begin
	for range o.Ranks {
		var cmd *exec.Cmd
		if s.programs {
			cmd = exec.Command(o.root()+"/bin/python3", o.Program...)
			cmd.Env = pythonEnv()
		} else {
			cmd = exec.Command(self, "rank", o.Trace, o.root())
			cmd.Env = []string{"GOMAXPROCS=1"}
			cmd.ExtraFiles = []*os.File{theySay, theyWait}
		}
		said := new(bytes.Buffer)
		cmd.Stderr = said
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		s.commands, s.stderr = append(s.commands, cmd), append(s.stderr, said)
		if !s.programs {
			if err := cmd.Start(); err != nil {
				return nil, fmt.Errorf("start a rank: %w", err)
			}
		}
	}
	if err := errors.Join(theySay.Close(), theyWait.Close()); err != nil {
		return nil, err
	}
	if s.programs {
		return s, nil
	}
	return s, s.hear(ready)
}

// hear waits until each rank has said what.
func (s *rankSet) hear(what byte) error {
	got := make([]byte, len(s.commands))
	if _, err := io.ReadFull(s.says, got); err != nil {
		return errors.Join(fmt.Errorf("a rank ended: %w", err), s.end())
	}
	for _, b := range got {
		if b != what {
			return fmt.Errorf("a rank says %q, not %q", b, what)
		}
	}
	return nil
}

// work lets the ranks begin, and returns when all are done.
func (s *rankSet) work() error {
	if len(s.commands) == 0 {
		return nil
	}
	s.begun = true
	if !s.programs {
		if err := s.begin.Close(); err != nil {
			return err
		}
		return s.hear(done)
	}
	for _, cmd := range s.commands {
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start a program: %w", err)
		}
	}
	return s.end()
}

// end waits for the processes, once. Those that were never told to begin are
// killed: why is told elsewhere.
func (s *rankSet) end() error {
	var errs []error
	for i, cmd := range s.commands {
		if cmd.Process == nil {
			continue
		}
		if !s.begun {
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				errs = append(errs, err)
			}
		}
		if err := cmd.Wait(); err != nil && s.begun {
			errs = append(errs, fmt.Errorf("rank %d: %w: %s", i, err, bytes.TrimSpace(s.stderr[i].Bytes())))
		}
	}
	s.commands = nil
	return errors.Join(errs...)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/replay"
	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
)

// What a rank inherits: where it says that it is ready and that it is done, and
// what ends when it shall begin.
const (
	rankSays  = 3
	rankWaits = 4
)

// rank replays the trace of a file below a directory: rank FILE DIR.
func rank(args []string) (err error) {
	if len(args) != 2 {
		return errors.New("usage: storm rank TRACE DIR")
	}
	t, err := readTrace(args[0])
	if err != nil {
		return err
	}
	r, err := replay.New(t, args[1])
	if err != nil {
		return err
	}
	debug.SetGCPercent(-1) // nothing is collected while the clock runs
	says, waits := os.NewFile(rankSays, "says"), os.NewFile(rankWaits, "waits")
	if _, err := says.Write([]byte{ready}); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, waits); err != nil {
		return err
	}
	if err := r.Run(); err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	_, err = says.Write([]byte{done})
	return err
}

func readTrace(path string) (t *trace.Trace, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if t, err = trace.Parse(f); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return t, err
}

package gpu

import (
	"io"
	"os"
	"sync"
	"time"
)

// reader keeps the end of what comes through a pipe (for output that must be
// whole: cut says whether it is), and never keeps the writer waiting.
type reader struct {
	read, write *os.File
	limit       int
	done        chan struct{}

	mu      sync.Mutex
	kept    []byte
	dropped bool
}

func newReader(limit int) (*reader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &reader{read: r, write: w, limit: limit, done: make(chan struct{})}, nil
}

// abandon closes a pipe that was not used.
func (r *reader) abandon() error {
	err := r.write.Close()
	if e := r.read.Close(); err == nil {
		err = e
	}
	return err
}

// begin leaves the writing end to the child and reads.
func (r *reader) begin() error {
	err := r.write.Close()
	go func() {
		defer close(r.done)
		// It ends at the end of file or at the deadline of settle; the copy has no
		// other way to fail, since Write does not.
		_, _ = io.Copy(r, onlyRead{r.read})
	}()
	return err
}

// onlyRead hides the file's WriteTo, which would splice.
type onlyRead struct{ io.Reader }

// Write implements io.Writer for the copy.
func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, p...)
	if more := len(r.kept) - r.limit; more > 0 {
		r.kept, r.dropped = append([]byte(nil), r.kept[more:]...), true
	}
	return len(p), nil
}

// settle ends the reading: at the end of file, or after wait.
func (r *reader) settle(wait time.Duration) {
	// Without deadlines (they work on every pipe that the runtime polls) the
	// reading end is closed below, which ends the copy as well.
	deadline := r.read.SetReadDeadline(time.Now().Add(wait))
	if deadline == nil {
		<-r.done
	}
	// What was read only: its error would say nothing about what was read.
	r.read.Close()
}

func (r *reader) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]byte(nil), r.kept...)
}

func (r *reader) cut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

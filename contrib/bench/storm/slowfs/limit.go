package slowfs

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Server stands for the metadata servers that all nodes share. In no span of one
// second does it begin more than its rate of operations; what comes beyond that
// waits, first come first served. Each operation then takes the delay. It is a
// bucket of tokens as large as one second's rate, so that a few operations of
// many nodes at once are not late, and a storm is.
type Server struct {
	delay, window time.Duration

	mu   sync.Mutex
	last []time.Duration // when the last operations began, a ring
	next int
}

// NewServer delays each operation and begins at most rate of them in a second;
// rate 0 is no limit. Both are for a world whose time passes slowness times more
// slowly than the clock's: with slowness 8 a delay of 1 ms takes 8 ms.
func NewServer(delay time.Duration, rate, slowness int) *Server {
	s := &Server{delay: delay * time.Duration(slowness), window: time.Second * time.Duration(slowness), last: make([]time.Duration, rate)}
	for i := range s.last {
		s.last[i] = -s.window
	}
	return s
}

// begin is when an operation that arrives now begins.
func (s *Server) begin(now time.Duration) time.Duration {
	if len(s.last) == 0 {
		return now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := max(now, s.last[s.next]+s.window)
	s.last[s.next] = at
	s.next = (s.next + 1) % len(s.last)
	return at
}

// wait returns when an operation that arrives now is done. The clock is the
// kernel's, to the microsecond: the scheduler of Go rounds up to milliseconds.
func (s *Server) wait() {
	now := monotonic()
	until := s.begin(now) + s.delay
	if until == now {
		return
	}
	at := unix.NsecToTimespec(int64(until))
	for errors.Is(unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil), syscall.EINTR) {
	}
}

func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // Linux has that clock
	}
	return time.Duration(ts.Nano())
}

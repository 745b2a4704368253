package cache

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// TestLockIsForOneAtATime: whoever holds a lock is alone, though its file goes
// each time, and nothing is left behind.
func TestLockIsForOneAtATime(t *testing.T) {
	s := newStore(t)
	var inside atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		other, err := Open(s.Root())
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for range 60 {
				release, err := other.Lock(t.Context(), "one", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				inside.Add(-1)
				if err := release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	left, err := os.ReadDir(s.tmp("locks"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in tmp/locks: %v, %v", left, err)
	}
}

package slowfs

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestNoMoreThanTheRate: whenever operations arrive, in no second do more begin
// than the rate; none begins before it arrives or before one that came earlier;
// and none waits while the servers could have begun it.
func TestNoMoreThanTheRate(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		rate, slowness := 1+rnd.IntN(40), 1+rnd.IntN(8)
		s := NewServer(time.Millisecond, rate, slowness)
		second := time.Second * time.Duration(slowness)
		now := time.Duration(rnd.Int64N(int64(time.Hour)))
		var began []time.Duration
		for range 400 {
			if rnd.IntN(3) == 0 {
				now += time.Duration(rnd.Int64N(int64(second) / 4))
			}
			at := s.begin(now)
			if at < now {
				t.Fatalf("seed %d: begins %v before it arrives", seed, now-at)
			}
			if n := len(began); n > 0 && at < began[n-1] {
				t.Fatalf("seed %d: begins before an earlier one", seed)
			}
			if at > now && (len(began) < rate || at != began[len(began)-rate]+second) {
				t.Fatalf("seed %d: waits for nothing", seed)
			}
			began = append(began, at)
		}
		for i, at := range began {
			end, _ := slices.BinarySearch(began, at+second)
			if end-i > rate {
				t.Fatalf("seed %d: %d operations in a second, the rate is %d", seed, end-i, rate)
			}
		}
	}
}

// TestWaits: an operation is not done before its delay is over, nor what is
// beyond the rate before the next second.
func TestWaits(t *testing.T) {
	s := NewServer(2*time.Millisecond, 10, 1)
	start := monotonic()
	s.wait()
	if took := monotonic() - start; took < 2*time.Millisecond {
		t.Errorf("an operation took %v", took)
	}
	var group sync.WaitGroup
	for range 10 { // with the one above, one too many
		group.Go(s.wait)
	}
	group.Wait()
	if took := monotonic() - start; took < time.Second {
		t.Errorf("11 operations took %v, the rate is 10 a second", took)
	}
}

func TestNoLimit(t *testing.T) {
	s := NewServer(0, 0, 1)
	for i := range time.Duration(1000) {
		if at := s.begin(i / 2); at != i/2 {
			t.Fatalf("operation %d begins at %v", i, at)
		}
	}
}

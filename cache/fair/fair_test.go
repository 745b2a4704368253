package fair

import (
	"context"
	"errors"
	"testing"
	"time"
)

func try(t *testing.T, l *Limiter, client any) (release func(), ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	waited := 0
	if client != nil {
		ctx = With(ctx, client)
	}
	release, err := l.Acquire(ctx, func() { waited++ })
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || waited != 1) {
		t.Fatalf("%v, told to wait %d times", err, waited)
	}
	return release, err == nil
}

// One client cannot take the last places; others find one each.
func TestNobodyTakesAll(t *testing.T) {
	l := New(8)
	var greedy []func()
	for {
		release, ok := try(t, l, "greedy")
		if !ok {
			break
		}
		greedy = append(greedy, release)
	}
	if len(greedy) != 6 {
		t.Errorf("one client has %d of 8 places, want 6", len(greedy))
	}
	for _, other := range []string{"a", "b"} {
		if _, ok := try(t, l, other); !ok {
			t.Errorf("%s found no place", other)
		}
	}
	if _, ok := try(t, l, "c"); ok {
		t.Error("there were nine places")
	}
	greedy[0]()
	greedy[0]() // twice is once
	if _, ok := try(t, l, "greedy"); ok {
		t.Error("the place given back went to who has most")
	}
	if _, ok := try(t, l, "c"); !ok {
		t.Error("the place given back is lost")
	}
	if _, ok := try(t, l, "d"); ok {
		t.Error("a place was given back twice")
	}
}

func TestWithoutClientsAllPlacesCount(t *testing.T) {
	for _, places := range []int{1, 2, 8} {
		l := New(places)
		n := 0
		for {
			if _, ok := try(t, l, nil); !ok {
				break
			}
			n++
		}
		if n != places {
			t.Errorf("%d of %d places", n, places)
		}
	}
}

func TestSomebodyWhoWaitsGetsThePlace(t *testing.T) {
	l := New(1)
	release, ok := try(t, l, "a")
	if !ok {
		t.Fatal("no place")
	}
	got := make(chan error, 1)
	go func() {
		_, err := l.Acquire(With(context.Background(), "b"), release)
		got <- err
	}()
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still waiting")
	}
}

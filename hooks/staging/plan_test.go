package staging

import (
	"errors"
	"testing"
	"time"
)

// The least recently used leave, those in use never, no more than needed, and none in vain.
func TestPlan(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	a, b, c := Entry{"a", 10, at(3), false}, Entry{"b", 20, at(1), false}, Entry{"c", 30, at(2), false}
	inUse := func(e Entry) Entry { e.InUse = true; return e }
	for name, k := range map[string]struct {
		have []Entry
		need int64
		room Room
		want string
		err  error
	}{
		"empty":                {nil, 5, Room{Budget: 5, Free: 5}, "", nil},
		"too large at all":     {nil, 6, Room{Budget: 5, Free: 9}, "", ErrRoom},
		"fits":                 {[]Entry{a, b, c}, 40, Room{Budget: 100, Free: 40}, "", nil},
		"oldest for budget":    {[]Entry{a, b, c}, 41, Room{Budget: 100, Free: 99}, "b", nil},
		"two for free":         {[]Entry{a, b, c}, 50, Room{Free: 10}, "bc", nil},
		"reserve counts":       {[]Entry{a, b, c}, 10, Room{Free: 10, Reserve: 5}, "b", nil},
		"no budget":            {[]Entry{a, b, c}, 1000, Room{Free: 1000}, "", nil},
		"in use stays":         {[]Entry{a, inUse(b), c}, 41, Room{Budget: 100, Free: 99}, "c", nil},
		"only in use":          {[]Entry{inUse(a), inUse(b)}, 80, Room{Budget: 100, Free: 99}, "", ErrRoom},
		"not enough: all stay": {[]Entry{a, inUse(c)}, 75, Room{Budget: 100, Free: 999}, "", ErrRoom},
	} {
		leave, err := Plan(k.have, k.need, k.room)
		got := ""
		for _, e := range leave {
			got += e.SHA256
		}
		if got != k.want || !errors.Is(err, k.err) {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, k.want, k.err)
		}
	}
}

func TestUpperOf(t *testing.T) {
	const info = "30 1 0:25 / / rw shared:1 - overlay overlay rw,lowerdir=/l,upperdir=/u/p,workdir=/w\n31 30 0:26 / /x rw - tmpfs tmpfs rw\n"
	if u := upperOf(info, "0:25"); u != "/u/p" {
		t.Errorf("%q", u)
	}
	if u := upperOf(info, "0:26") + upperOf(info, "0:27"); u != "" {
		t.Errorf("%q", u)
	}
}

package budget

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// ledger has the usage of users and groups by number.
type ledger struct {
	users, groups map[int]api.Usage
	err           error
}

func (l ledger) Usage(_ context.Context, uid, gid *int) (api.Usage, error) {
	if uid != nil {
		return l.users[*uid], l.err
	}
	return l.groups[*gid], l.err
}

func TestBytesAndInodes(t *testing.T) {
	l := ledger{users: map[int]api.Usage{1: {Environments: 2, Bytes: 80, Inodes: 5}, 2: {Bytes: 80, Inodes: 10}}, groups: map[int]api.Usage{9: {Bytes: 995}}}
	k := NewKeeper(l, Rules{
		Users:     map[int]Limits{1: {MaxBytes: 100}},
		Everybody: &Limits{MaxInodes: 10},
		Groups:    map[int]Limits{9: {MaxBytes: 1000}},
	})
	for _, c := range []struct {
		who   Who
		bytes int64
		want  string // "" = allowed
	}{
		{Who{1, 5}, 20, ""},
		{Who{1, 5}, 21, "your budget (uid 1) is 100 bytes, 80 bytes of it are used by 2 environments, and this takes at least 21 bytes more"},
		{Who{1, 9}, 6, "the budget of all of your group 9"},
		{Who{1, 9}, 5, ""},
		{Who{2, 5}, 1 << 40, "your budget (uid 2) is 10 inodes, 10 are used"},
		{Who{3, 5}, 1 << 40, ""},
	} {
		err := k.Allow(t.Context(), c.who, Want{Bytes: c.bytes})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.want != "" && (!errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "\nnext: ")):
			t.Errorf("%+v: %v", c, err)
		}
	}
	// What is not known is not allowed, and no fault of the user's.
	l.err = errors.New("disk")
	k = NewKeeper(l, Rules{Everybody: &Limits{MaxInodes: 10}})
	if err := k.Allow(t.Context(), Who{1, 1}, Want{}); err == nil || errors.Is(err, ErrBudget) {
		t.Errorf("an index that fails: %v", err)
	}
}

func TestChannels(t *testing.T) {
	k := NewKeeper(ledger{}, Rules{Everybody: &Limits{Channels: []string{"https://conda.example/main/", "https://conda.example/forge", "file:///"}}})
	for location, allowed := range map[string]bool{
		"https://conda.example/main/linux-64/a.conda":             true,
		"https://CONDA.example/forge/noarch/a.conda":              true,
		"file:///home/u/a.conda":                                  true,
		"https://conda.example/mainly/linux-64/a.conda":           false,
		"https://conda.example/forge-evil/a.conda":                false,
		"https://conda.example/main/../evil/a.conda":              false,
		"https://conda.example/main/%2e%2e/evil/a.conda":          false,
		"https://conda.example@evil.example/main/a.conda":         false,
		"https://conda.example:8443/main/a.conda":                 false,
		"http://conda.example/main/a.conda":                       false,
		"https://evil.example/https://conda.example/main/a.conda": false,
		"https:conda.example/main/a.conda":                        false,
		"./a.conda":                                               false,
		"https://conda.example/main\n/a.conda":                    false,
	} {
		err := k.Allow(t.Context(), Who{1, 1}, Want{Packages: []Package{{"a-1.0-0", location}}})
		if (err == nil) != allowed || err != nil && !errors.Is(err, ErrBudget) {
			t.Errorf("%q: %v", location, err)
		}
	}
}

// Of one user's prepares so many work at once; another's go on, and a group's are counted
// together.
func TestPreparesAtOneTime(t *testing.T) {
	k := NewKeeper(ledger{}, Rules{Everybody: &Limits{Prepares: 1}, Groups: map[int]Limits{9: {Prepares: 2}}})
	slot := func(who Who) (func(), bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		waited := false
		release, err := k.Slot(ctx, who, func() { waited = true })
		if (err != nil) != waited {
			t.Errorf("%+v: waited %v, %v", who, waited, err)
		}
		return release, err == nil
	}
	one, ok := slot(Who{1, 9})
	if !ok {
		t.Fatal("the first waits")
	}
	if _, ok := slot(Who{1, 9}); ok {
		t.Error("a second of one user's works")
	}
	two, ok := slot(Who{2, 9})
	if !ok {
		t.Error("another user waits")
	}
	if _, ok := slot(Who{3, 9}); ok {
		t.Error("a third of the group works")
	}
	if three, ok := slot(Who{3, 8}); !ok {
		t.Error("one of another group waits")
	} else {
		three()
	}
	got := make(chan func(), 1)
	go func() {
		release, err := k.Slot(t.Context(), Who{1, 9}, nil)
		if err != nil {
			t.Error(err)
		}
		got <- release
	}()
	one()
	one() // once counts
	(<-got)()
	two()
	if len(k.working) != 0 {
		t.Errorf("still counted: %v", k.working)
	}
}

func TestLimitsThatCannotBeMeant(t *testing.T) {
	for _, l := range []Limits{{}, {MaxBytes: -1}, {Prepares: -1, MaxInodes: 3}, {Channels: []string{"conda-forge"}}, {Channels: []string{"https://u:p@h/c"}}} {
		if err := l.Check(); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
	if err := (&Limits{Channels: []string{"https://h/c", "file:///"}}).Check(); err != nil {
		t.Error(err)
	}
}

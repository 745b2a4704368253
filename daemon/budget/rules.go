package budget

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// ErrBudget is the class of refusals.
var ErrBudget = errors.New("over budget")

// Limits of a user or a group; what is zero or empty has none.
type Limits struct {
	// MaxBytes and MaxInodes of the environments that were asked for and are there.
	MaxBytes, MaxInodes int64
	// Prepares is how many may work at one time; others wait.
	Prepares int
	// Channels are beginnings of URLs, up to a slash: where what a lock names may lie.
	Channels []string
}

// Rules say who has which limits. Those of a user's primary group count beside the
// user's own.
type Rules struct {
	Users map[int]Limits
	// Everybody has these who is not in Users; nil = none.
	Everybody *Limits
	// Groups bound all their members together.
	Groups map[int]Limits
}

// Who asks: a user with a primary group.
type Who struct {
	UID, GID int
}

// applied are limits with whose they are; one of UID and GID is set.
type applied struct {
	Limits
	uid, gid *int
}

func (a *applied) whose() string {
	if a.uid != nil {
		return fmt.Sprintf("your budget (uid %d)", *a.uid)
	}
	return fmt.Sprintf("the budget of all of your group %d", *a.gid)
}

func (a *applied) key() string { return a.whose() }

// of are the limits that count for who.
func (r *Rules) of(who Who) (out []applied) {
	if l, ok := r.Users[who.UID]; ok {
		out = append(out, applied{Limits: l, uid: &who.UID})
	} else if r.Everybody != nil {
		out = append(out, applied{Limits: *r.Everybody, uid: &who.UID})
	}
	if l, ok := r.Groups[who.GID]; ok {
		out = append(out, applied{Limits: l, gid: &who.GID})
	}
	return out
}

// Package of what is asked for, and the URL at which the lock says that it lies, without
// credentials.
type Package struct {
	Name, URL string
}

// Want is what would be made.
type Want struct {
	// Bytes that it will take at least.
	Bytes int64
	// Packages of it.
	Packages []Package
}

// channels returns an error if a package lies where none of the channels is.
func (a *applied) channels(want Want) error {
	if len(a.Channels) == 0 {
		return nil
	}
	var outside []string
	for _, p := range want.Packages {
		if !slices.ContainsFunc(a.Channels, func(c string) bool { return within(p.URL, c) }) {
			outside = append(outside, fmt.Sprintf("%s (%s)", p.Name, p.URL))
		}
	}
	if len(outside) == 0 {
		return nil
	}
	slices.Sort(outside)
	more := ""
	if n := len(outside) - 3; n > 0 {
		outside, more = outside[:3], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%w: %s has not the channel of %s%s\nnext: lock with the channels that it has (%s), or ask an administrator of hpcenv (budgets in hpcenvd.yaml)",
		ErrBudget, a.whose(), strings.Join(outside, ", "), more, strings.Join(a.Channels, ", "))
}

// within tells whether a URL lies in a channel. Paths are compared as servers read them:
// what goes up again is not within.
func within(location, channel string) bool {
	u, err := url.Parse(location)
	c, cerr := url.Parse(channel)
	if err != nil || cerr != nil || u.Scheme != c.Scheme || !strings.EqualFold(u.Host, c.Host) || u.Opaque != "" {
		return false
	}
	top := strings.TrimSuffix(path.Clean("/"+c.Path), "/") + "/"
	return strings.HasPrefix(path.Clean("/"+u.Path)+"/", top)
}

// Check refuses rules that cannot be meant.
func (l *Limits) Check() error {
	if cmp.Or(l.MaxBytes, l.MaxInodes, int64(l.Prepares), int64(len(l.Channels))) == 0 {
		return errors.New("bounds nothing")
	}
	if min(l.MaxBytes, l.MaxInodes, int64(l.Prepares)) < 0 {
		return errors.New("a bound is negative")
	}
	for _, c := range l.Channels {
		u, err := url.Parse(c)
		if err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file" || u.User != nil || u.RawQuery != "" {
			return fmt.Errorf("the channel %q is not a URL (https://HOST/CHANNEL; file:/// for what users hand over)", c)
		}
	}
	return nil
}

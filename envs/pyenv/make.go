package pyenv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/target"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// Made is an environment of a lock that names none.
type Made struct {
	// Lock has the one environment.
	Lock *lockfile.Lock
	// Lacking says of platforms that the environment does not have why.
	Lacking map[string]string
	// Offer is the part of the site's that was taken: with it, Make makes the same.
	Offer *Offer
}

// Make makes the environment that a wish means, for those of the platforms that
// can have it: one version of Python for all platforms for which a Python that
// fits is offered. The error wraps python.ErrInterpreter, python.ErrSelection or
// lockfile.ErrLock; it is returned where no platform can have the environment. Of an interpreter without a URL
// no packages are there: such an environment can be looked at, not installed.
func Make(source target.Source, wish python.Wish, platforms []string, offer *Offer) (*Made, error) {
	if offer == nil || len(offer.Interpreters) == 0 {
		if offer == nil {
			offer = &Offer{}
		}
		return nil, offer.none()
	}
	glibc, err := offer.glibc()
	if err != nil {
		return nil, err
	}
	m := &Made{Lacking: map[string]string{}, Offer: &Offer{Glibc: offer.Glibc}}
	var served []string
	for _, p := range platforms {
		if _, err := python.Choose(offer.Interpreters, []string{p}, wish.Python, source.Requires()); err == nil {
			served = append(served, p)
		} else {
			m.Lacking[p] = firstLine(err)
		}
	}
	if len(served) == 0 {
		served = platforms // so that the refusal is about all of them
	}
	chosen, err := python.Choose(offer.Interpreters, served, wish.Python, source.Requires())
	if err != nil {
		return nil, err
	}
	env := &lockfile.Environment{}
	var trouble []error
	for _, i := range chosen {
		m.Offer.Interpreters = append(m.Offer.Interpreters, i)
		lock, err := makeOne(source, wish, glibc, &i)
		if errors.Is(err, python.ErrSelection) {
			return nil, err // the same on every platform
		}
		if err != nil {
			trouble = append(trouble, err)
			m.Lacking[i.Platform] = firstLine(err)
			continue
		}
		m.Lock, env.Platforms = lock, append(env.Platforms, lock.Environments[0].Platforms[0])
	}
	if len(env.Platforms) == 0 {
		return nil, errors.Join(append(trouble, others(source, wish, offer, glibc, chosen[0].Version))...)
	}
	env.Name = wish.String()
	m.Lock.Environments = []*lockfile.Environment{env}
	return m, nil
}

// makeOne is the lock of a wish for the platform of one interpreter.
func makeOne(source target.Source, wish python.Wish, glibc tag.Glibc, i *python.Interpreter) (*lockfile.Lock, error) {
	one, err := target.Make(source, target.Want{
		Selection: wish.Selection, Platforms: []string{i.Platform}, Glibc: glibc, Interpreters: []python.Interpreter{*i}, Python: wish.Python,
	})
	if err != nil {
		return nil, err
	}
	if i.URL == "" {
		return one.Lock, nil
	}
	p := one.Lock.Environments[0].Platforms[0]
	if err := install(i, p); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return one.Lock, nil
}

// others hints at other Pythons that are offered and with which the wish can be
// had for one of the platforms. nil if there are none.
func others(source target.Source, wish python.Wish, offer *Offer, glibc tag.Glibc, than string) error {
	if wish.Python.Text != "" {
		return nil
	}
	var minors []string
	for _, i := range offer.Interpreters {
		v, err := version.Parse(i.Version)
		if err != nil || i.FreeThreaded || !source.Requires().Contains(v) {
			continue
		}
		minor := strings.Join(v.Release(2)[:2], ".")
		if strings.HasPrefix(than, minor+".") || slices.Contains(minors, minor) {
			continue
		}
		if _, err := makeOne(source, wish, glibc, &i); err == nil {
			minors = append(minors, minor)
		}
	}
	if minors == nil {
		return nil
	}
	return fmt.Errorf("next: or ask for a Python that it can be had with: --python %s, or .python-version", strings.Join(minors, " or "))
}

// firstLine is an error on one line, without its next steps.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\nnext: ")
	text, _, _ = strings.Cut(text, "; next: ")
	return strings.Join(strings.Fields(text), " ")
}

// All are the texts of the wishes that stand for `all environments` of a lock: the
// default, and each extra by itself (extras may exclude one another; groups are for
// those who develop the project).
func All(source target.Source) []string {
	out := []string{python.DefaultSelection}
	for _, x := range source.Extras() {
		out = append(out, python.Selection{Extras: []string{x}}.String())
	}
	return out
}

// newestMinor is the newest Python 3 that is released, oldestMinor the oldest that
// anybody locks for.
const newestMinor, oldestMinor = 14, 8

// Unlisted are offers of each minor version that there is, the newest first, for
// whoever looks at a lock without knowing what the site lists.
func Unlisted(platforms []string) []*Offer {
	var out []*Offer
	for minor := newestMinor; minor >= oldestMinor; minor-- {
		o := &Offer{}
		for _, p := range platforms {
			o.Interpreters = append(o.Interpreters, python.Interpreter{Version: fmt.Sprintf("3.%d.99", minor), Platform: p, Kind: python.Conda})
		}
		out = append(out, o)
	}
	return out
}

// Any makes an environment with the first of several offers that does; without one,
// the error is the first that is about the lock.
func Any(source target.Source, wish python.Wish, platforms []string, offers []*Offer) (*Made, error) {
	var first error
	for _, o := range offers {
		made, err := Make(source, wish, platforms, o)
		if err == nil {
			return made, nil
		}
		if first == nil || errors.Is(first, python.ErrInterpreter) {
			first = err
		}
	}
	return nil, first
}

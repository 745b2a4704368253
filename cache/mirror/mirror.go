// Package mirror says where else the content of a URL lies, and which of these
// places answers.
//
// Enters: rules (a prefix of URLs, and the places that stand for it), and what
// became of each try. Leaves: for a URL, the URLs to ask, the best first.
package mirror

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rule says that URLs at or below Prefix are asked for below each of URLs
// instead. Prefix itself is asked only if it is among them.
type Rule struct {
	Prefix string
	URLs   []string
}

// pause is how long a mirror that failed stays behind the others.
const pause = 5 * time.Minute

// List is a set of rules with the health of their mirrors. It may be used by many
// goroutines; nil is the empty one.
type List struct {
	rules []rule
	now   func() time.Time

	mu     sync.Mutex
	failed map[string]time.Time // until when a mirror stays behind
}

type rule struct {
	prefix string
	// length of the prefix's path in segments decides which rule counts.
	length int
	urls   []string
}

// New returns the list of these rules. What cannot be a rule is an error that
// shows no credential.
func New(rules []Rule) (*List, error) {
	l := &List{now: time.Now, failed: map[string]time.Time{}}
	for i, r := range rules {
		prefix, err := normal(r.Prefix)
		if err != nil {
			return nil, fmt.Errorf("mirror rule %d: prefix: %w", i+1, err)
		}
		if len(r.URLs) == 0 {
			return nil, fmt.Errorf("mirror rule %d: it names no URL", i+1)
		}
		one := rule{prefix: prefix, length: len(prefix)}
		for _, raw := range r.URLs {
			u, err := url.Parse(raw)
			if err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file" || u.RawQuery != "" || u.Fragment != "" {
				return nil, fmt.Errorf("mirror rule %d: one of its URLs is not an http, https, s3, oci or file URL without query", i+1)
			}
			if !slices.Contains([]string{"http", "https", "s3", "oci", "file"}, u.Scheme) {
				return nil, fmt.Errorf("mirror rule %d: mirrors with scheme %q are not supported, only http, https, s3, oci and file", i+1, u.Scheme)
			}
			one.urls = append(one.urls, strings.TrimRight(raw, "/"))
		}
		if slices.ContainsFunc(l.rules, func(r rule) bool { return r.prefix == prefix }) {
			return nil, fmt.Errorf("mirror rule %d: there is another one for its prefix", i+1)
		}
		l.rules = append(l.rules, one)
	}
	return l, nil
}

// normal is the one form in which prefixes and URLs are compared: scheme and host
// in lower case, no credentials, no slash at the end.
func normal(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file" {
		return "", errors.New("it is not a URL with a scheme and a host")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("it has a query or a fragment")
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// Place is one URL to ask.
type Place struct {
	URL string
	// Mirror is the mirror that it lies at, as configured; "" = the URL is the
	// one that was asked about. It may hold a credential.
	Mirror string
}

// Places returns where what raw names is to be asked for, the best first: raw
// itself if no rule is for it, else the mirrors of the rule with the longest
// prefix, those that failed lately last. raw must have no credentials.
func (l *List) Places(raw string) []Place {
	own := []Place{{URL: raw}}
	if l == nil || len(l.rules) == 0 {
		return own
	}
	u, err := url.Parse(raw)
	if err != nil {
		return own
	}
	at := strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host) + u.EscapedPath()
	best := -1
	for i, r := range l.rules {
		if within(at, r.prefix) && (best < 0 || r.length > l.rules[best].length) {
			best = i
		}
	}
	if best < 0 {
		return own
	}
	rest := strings.TrimPrefix(at, l.rules[best].prefix)
	if !inside(rest) {
		// A lock must not lead out of what a mirror offers.
		return own
	}
	query := ""
	if u.RawQuery != "" {
		query = "?" + u.RawQuery
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var good, bad []Place
	for _, m := range l.rules[best].urls {
		p := Place{URL: m + rest, Mirror: m}
		if !strings.HasPrefix(m, "file:") {
			p.URL += query
		}
		if l.now().Before(l.failed[m]) {
			bad = append(bad, p)
		} else {
			good = append(good, p)
		}
	}
	// The one whose failure lies back farthest may have recovered first.
	slices.SortStableFunc(bad, func(a, b Place) int { return l.failed[a.Mirror].Compare(l.failed[b.Mirror]) })
	return append(good, bad...)
}

func within(at, prefix string) bool {
	rest, ok := strings.CutPrefix(at, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// inside: a path below a mirror stays below it however it is read.
func inside(rest string) bool {
	plain, err := url.PathUnescape(rest)
	if err != nil || strings.ContainsAny(plain, "\\\x00") {
		return false
	}
	return rest == "" || path.Clean(plain) == strings.TrimRight(plain, "/") || plain == "/"
}

// Failed says that a place's mirror did not answer as it should: it stays behind
// the others for a while.
func (l *List) Failed(p Place) {
	if l == nil || p.Mirror == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[p.Mirror] = l.now().Add(pause)
}

// Worked says that a place's mirror delivered.
func (l *List) Worked(p Place) {
	if l == nil || p.Mirror == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failed, p.Mirror)
}

// Hosts lists host:port (or the host, without a port) of all http, https, oci and
// s3 mirrors: what who configured them allows to be asked.
func (l *List) Hosts() []string {
	if l == nil {
		return nil
	}
	var out []string
	for _, r := range l.rules {
		for _, m := range r.urls {
			u, err := url.Parse(m)
			if err == nil && u.Host != "" && u.Scheme != "file" && u.Scheme != "s3" {
				out = append(out, hostPort(u))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "http" {
		return u.Host + ":80"
	}
	return u.Host + ":443"
}

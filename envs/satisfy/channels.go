package satisfy

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
)

// channels compares the channels of an environment.
func (c *checker) channels(env *lockfile.Environment) error {
	wanted, settled, err := c.p.Channels(env.Name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(wanted, func(w project.Channel) bool { return w.Name == "defaults" }) {
		return nil // a name for several
	}
	same := len(wanted) == len(env.Channels)
	for i, w := range wanted {
		if !slices.ContainsFunc(env.Channels, func(have string) bool { return sameChannel(w.Name, have) }) {
			c.add(w.Line, "environment %s: the channel %s of the manifest is not in the lock", env.Name, redacted(w.Name))
			same = false
		} else if same && settled && !sameChannel(w.Name, env.Channels[i]) {
			c.add(w.Line, "environment %s: the channels have another order in the lock: %s", env.Name, strings.Join(env.Channels, ", "))
			return nil
		}
	}
	for _, have := range env.Channels {
		if !slices.ContainsFunc(wanted, func(w project.Channel) bool { return sameChannel(w.Name, have) }) {
			c.add(0, "environment %s: the lock has the channel %s, the manifest has not", env.Name, have)
		}
	}
	return nil
}

// redacted is a channel or index as messages show it.
func redacted(name string) string {
	if !strings.Contains(name, "://") {
		return name
	}
	return lockfile.RedactChannel(name)
}

// sameChannel compares a manifest's channel, which may be a name, a URL or a
// path, with a lock's URL. What host a name belongs to is a setting of pixi's;
// so is, for a path, where the project lay.
func sameChannel(wanted, locked string) bool {
	wanted, locked = strings.TrimRight(wanted, "/"), strings.TrimRight(locked, "/")
	l, lockErr := url.Parse(locked)
	if u, err := url.Parse(wanted); err == nil && u.Host != "" {
		// A token in the path is a credential, which locks do not hold.
		if rest, ok := strings.CutPrefix(u.Path, "/t/"); ok {
			_, after, _ := strings.Cut(rest, "/")
			u.Path = "/" + after
		}
		return lockErr == nil && u.Scheme == l.Scheme && strings.EqualFold(host(u), host(l)) && strings.TrimRight(u.Path, "/") == strings.TrimRight(l.Path, "/")
	}
	at := locked
	if lockErr == nil && l.Scheme != "" {
		at = l.Path // a URL has blanks and what is not ASCII in another form
	}
	for _, name := range paths(wanted) {
		if name == "" || at == name || strings.HasSuffix(at, "/"+name) {
			return true
		}
	}
	return false
}

// paths are the ends that a locked URL's path may have for a channel that is
// given as a name, a path or a file: URL; "" = any.
func paths(wanted string) []string {
	texts := []string{wanted}
	if rest, ok := strings.CutPrefix(wanted, "file:"); ok {
		texts = []string{strings.TrimLeft(rest, "/")}
		if decoded, err := url.PathUnescape(texts[0]); err == nil {
			texts = append(texts, decoded)
		}
	}
	for i, text := range texts {
		text = strings.TrimPrefix(text, "~/") // a home directory, whose is not known
		text = strings.TrimPrefix(path.Clean(text), "/")
		for text == ".." || text == "." || strings.HasPrefix(text, "../") {
			_, text, _ = strings.Cut(text, "/")
		}
		texts[i] = text
	}
	return texts
}

// host is a URL's host without the port that its scheme has anyway.
func host(u *url.URL) string {
	switch u.Port() {
	case "443":
		if u.Scheme == "https" {
			return u.Hostname()
		}
	case "80":
		if u.Scheme == "http" {
			return u.Hostname()
		}
	}
	return u.Host
}

// indexes compares the first index of Python packages.
func (c *checker) indexes(env *lockfile.Environment) error {
	indexes, err := c.p.Indexes(env.Name)
	if err != nil {
		return err
	}
	if indexes.URL != "" && len(env.Indexes) > 0 && !sameURL(indexes.URL, env.Indexes[0]) {
		c.add(indexes.Line, "environment %s: the manifest's index is %s, the lock's is %s", env.Name, redacted(indexes.URL), env.Indexes[0])
	}
	return nil
}

func sameURL(a, b string) bool { return sameChannel(a, b) }

// sameVersion compares versions by value where both are some.
func sameVersion(a, b string) bool {
	v, err := version.Parse(a)
	w, err2 := version.Parse(b)
	if err != nil || err2 != nil {
		return a == b
	}
	return v.Compare(w) == 0
}

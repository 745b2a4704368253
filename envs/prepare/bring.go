package prepare

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// NeedCredentialError names packages that this process could not fetch since
// their server wants to know who asks. Who has a credential must fetch them and
// hand their archives over.
type NeedCredentialError struct {
	Packages []*lockfile.CondaPackage
	Wheels   []*lockfile.PyPIPackage
	Pythons  []*lockfile.StandalonePython
	// Err is the server's refusal of one of them.
	Err error
}

func (e *NeedCredentialError) Error() string { return e.Err.Error() }
func (e *NeedCredentialError) Unwrap() error { return e.Err }

// needCredential makes a *NeedCredentialError of a refusal to deliver: of all that
// is missing in the same channel (of wheels: on the same server), since one after the other would take as many
// turns.
func needCredential(err error, missing []locked, has func(cache.Source) (bool, error)) error {
	var of *cache.SourceError
	if !errors.As(err, &of) || !cache.WantsCredential(err) {
		return err
	}
	need := &NeedCredentialError{Err: err}
	for _, p := range missing {
		src, serr := p.source()
		if serr != nil {
			return serr
		}
		if _, _, local := p.where(); local || channelOf(src) != channelOf(of.Source) {
			continue
		}
		ok, herr := has(src)
		if herr != nil {
			return herr
		}
		if !ok {
			need.add(p)
		}
	}
	if len(need.Packages)+len(need.Wheels)+len(need.Pythons) == 0 {
		return err
	}
	return need
}

// knownClosed returns a *NeedCredentialError if some of what is missing is known to
// need a credential.
func (r *run) knownClosed(missing []locked) error {
	if r.deps.Closed == nil || r.req.Brought {
		return nil
	}
	need := &NeedCredentialError{}
	first := ""
	for _, p := range missing {
		src, err := p.source()
		if err != nil {
			return err
		}
		closed, err := r.deps.Closed(src)
		if err != nil {
			return err
		}
		if closed {
			need.add(p)
			if first == "" {
				first = p.dist()
			}
		}
	}
	if first == "" {
		return nil
	}
	need.Err = closedError(first)
	return need
}

// closedError names a package that needs a credential.
type closedError string

func (e closedError) Error() string { return "package " + string(e) + ": it needs a credential" }
func (e closedError) Unwrap() error { return cache.ErrFetch }

func (e *NeedCredentialError) add(l locked) {
	switch {
	case l.wheel != nil:
		e.Wheels = append(e.Wheels, l.wheel)
	case l.python != nil:
		e.Pythons = append(e.Pythons, l.python)
	default:
		e.Packages = append(e.Packages, l.conda)
	}
}

// channelOf is a package's URL without its file and subdir; of a wheel or a Python of
// its own, which may lie anywhere on its server, scheme and host.
func channelOf(src cache.Source) string {
	if src.Format != cache.FormatConda && src.Format != cache.FormatTarBz2 {
		scheme, rest, _ := strings.Cut(src.URL, "://")
		host, _, _ := strings.Cut(rest, "/")
		return scheme + "://" + host
	}
	return path.Dir(path.Dir(src.URL))
}

// offline is nil if what is missing can be had without the network, else an error
// of class cache.ErrOffline that names all that cannot.
func (r *run) offline(missing []locked) error {
	if !r.req.Offline || r.req.DryRun || r.req.Brought { // what is brought is asked for
		return nil
	}
	var absent []string
	for _, p := range missing {
		if _, _, local := p.where(); local {
			continue
		}
		src, err := p.source()
		if err != nil {
			return err
		}
		network, err := r.deps.Store.NeedsNetwork(r.deps.Fetcher, src)
		if err != nil {
			return fmt.Errorf("package %s: %w", p.dist(), err)
		}
		if network {
			absent = append(absent, p.place())
		}
	}
	switch n := len(absent); {
	case n == 0:
		return nil
	case n > 10:
		absent = append(absent[:10], fmt.Sprintf("and %d more", n-10))
		fallthrough
	default:
		return absentError(fmt.Sprintf("%d of the lock's packages are not in the store, and --offline forbids to fetch them: %s", n, strings.Join(absent, ", ")))
	}
}

// absentError names what is not there offline.
type absentError string

func (e absentError) Error() string   { return string(e) }
func (e absentError) Unwrap() []error { return []error{cache.ErrFetch, cache.ErrOffline} }

// CredentialInLock returns the line of a lock's first URL that holds a credential;
// 0 = none does. It looks at the text: whatever names a URL counts, of any format.
func CredentialInLock(lock []byte) (line int) {
	for at := 0; ; {
		i := bytes.Index(lock[at:], []byte("://"))
		if i < 0 {
			return 0
		}
		start, end := at+i, at+i+len("://")
		for start > at && isSchemeByte(lock[start-1]) {
			start--
		}
		for end < len(lock) && !bytes.ContainsRune([]byte(" \t\r\n\"'<>,"), rune(lock[end])) {
			end++
		}
		if url := string(lock[start:end]); hasCredential(url) {
			return 1 + bytes.Count(lock[:start], []byte("\n"))
		}
		at = end
	}
}

func isSchemeByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
}

// shortestToken is from how many bytes on a user without a password is taken for a
// token: names of users that servers ask for ("git", "oauth2accesstoken") are
// shorter, tokens longer.
const shortestToken = 20

// hasCredential: a password, a token in the path, or what may be a token in the
// place of a user.
func hasCredential(url string) bool {
	// A channel's URL may end with its token; what has a dot is a file's name.
	if _, last, found := strings.Cut(strings.TrimRight(url, "/"), "/t/"); found && len(last) >= shortestToken && !strings.ContainsAny(last, "./?#") {
		return true
	}
	url, query, _ := strings.Cut(url, "?")
	if secretQuery(query) {
		return true
	}
	if lockfile.RedactURL(url) == url {
		return false
	}
	_, rest, _ := strings.Cut(url, "://")
	authority, tail, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 && (strings.Contains(authority[:i], ":") || i >= shortestToken) {
		return true
	}
	plain := "https://host/" + tail
	return lockfile.RedactURL(plain) != plain
}

// secretQuery: a parameter is called as those are that hold secrets.
func secretQuery(query string) bool {
	query, _, _ = strings.Cut(query, "#")
	for _, part := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(strings.ToLower(part), "=")
		if value == "" {
			continue
		}
		switch name {
		case "sig", "auth", "key", "jwt":
			return true
		}
		for _, word := range []string{"token", "signature", "secret", "passw", "credential", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key"} {
			if strings.Contains(name, word) {
				return true
			}
		}
	}
	return false
}

// checkShared refuses a lock whose URLs hold credentials in a store that others
// read: it would be kept there as it is.
func (r *run) checkShared() error {
	if !r.deps.Shared {
		return nil
	}
	if line := CredentialInLock(r.req.Lock); line > 0 {
		return fmt.Errorf("%w: line %d: a URL holds a credential, and the cluster keeps locks where others read them\nnext: take it out of the channel's URL in the manifest, keep it with `pixi auth login` or in ~/.netrc, and run %s", lockfile.ErrLock, line, lockfile.FormatOf("", r.req.Lock).Relock())
	}
	return nil
}

package remote

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/hpcenv/hpcenv/cache/credential"
	"github.com/hpcenv/hpcenv/cache/mirror"
)

// Access is how what URLs name is reached. The zero value has no mirrors and no
// credentials but those that URLs hold.
type Access struct {
	Mirrors     *mirror.List
	Credentials *credential.Set
	// Buckets that are not where AWS has them.
	Buckets []Bucket
	// AWS is for buckets that Buckets does not name.
	AWS credential.AWS
}

// Target is one place to ask for an archive.
type Target struct {
	// URL that requests go to: http, https or file. It holds no credential but a
	// conda token.
	URL *url.URL
	// Shown is the place as messages and records may show it.
	Shown string
	// Operator: who configured this program chose the place, not the lock.
	Operator bool
	// OCI: the place is a registry, whose tokens are asked for with its challenge.
	OCI bool

	place  mirror.Place
	cred   credential.Credential
	region string // of a bucket
}

// Targets returns where the archive with this sha256, which a lock says lies at
// raw, is to be asked for, the best place first. The error shows no credential.
func (a *Access) Targets(raw, sha256 string) ([]*Target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("its URL cannot be parsed")
	}
	plain := *u
	plain.User = nil
	clean, token := withoutToken(u.EscapedPath())
	if token != "" {
		if plain.Path, err = url.PathUnescape(clean); err != nil {
			return nil, errors.New("its URL cannot be parsed")
		}
		plain.RawPath = clean
	}
	var out []*Target
	for _, p := range a.Mirrors.Places(plain.String()) {
		from := u // with the credential that it holds
		if p.Mirror != "" {
			if from, err = url.Parse(p.URL); err != nil {
				return nil, errors.New("the URL at its mirror cannot be parsed")
			}
		}
		t, err := a.target(from, sha256)
		if err != nil {
			return nil, err
		}
		t.place, t.Operator = p, p.Mirror != ""
		out = append(out, t)
	}
	return out, nil
}

// target is one place. What a URL itself holds goes before what was found
// elsewhere for its host.
func (a *Access) target(u *url.URL, sha256 string) (*Target, error) {
	at := *u
	at.User = nil
	t := &Target{URL: &at, Shown: Redact(u.String())}
	_, token := withoutToken(u.EscapedPath())
	switch {
	case u.User != nil:
		password, _ := u.User.Password()
		t.cred = credential.NewBasic(u.User.Username(), password, "the URL")
	case token != "":
		// It stays where it is; it must be known to be taken out of texts.
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		t.cred = credential.NewCondaToken(token, "the URL")
		return t, nil
	default:
		t.cred, _ = a.Credentials.Lookup(u)
	}
	if t.cred.Kind() == credential.Unusable {
		return nil, fmt.Errorf("%s has an entry for %s of the kind %s, which hpcenv does not know", t.cred.From(), u.Host, t.cred.User())
	}
	switch u.Scheme {
	case "http", "https":
		if t.cred.Kind() == credential.CondaToken {
			secret, _ := t.cred.Reveal()
			at.RawPath = "/t/" + url.PathEscape(secret) + u.EscapedPath()
			at.Path = "/t/" + secret + u.Path
		}
		return t, nil
	case "file":
		t.cred = credential.Credential{}
		return t, nil
	case "s3":
		return t, a.s3(t, u)
	case "oci":
		return t, oci(t, u, sha256)
	}
	return nil, fmt.Errorf("%s: scheme %q is not supported, only http, https, s3, oci and file are", t.Shown, u.Scheme)
}

// Authorize gives req, which is ready otherwise, what its host wants to see.
func (t *Target) Authorize(req *http.Request) {
	secret, session := t.cred.Reveal()
	switch {
	case t.OCI:
		// The registry's challenge says what it wants: see Tokens.
	case t.cred.Kind() == credential.Basic:
		req.SetBasicAuth(t.cred.User(), secret)
	case t.cred.Kind() == credential.Bearer:
		req.Header.Set("Authorization", "Bearer "+secret)
	case t.cred.Kind() == credential.S3:
		sign(req, t.cred.User(), secret, session, t.region)
	}
}

// Credential that the place is shown; its kind is None if there is none.
func (t *Target) Credential() credential.Credential { return t.cred }

// Failed tells the place's mirror that it did not answer as it should; Worked
// that it did.
func (a *Access) Failed(t *Target) { a.Mirrors.Failed(t.place) }

// Worked is the opposite of Failed.
func (a *Access) Worked(t *Target) { a.Mirrors.Worked(t.place) }

// Scrub takes the place's credential out of a text that others wrote.
func (t *Target) Scrub(text string) string {
	for _, s := range t.cred.Secrets() {
		text = strings.ReplaceAll(text, s, "***")
	}
	return text
}

// packageName is a conda package's name by its file name.
func packageName(file string) (string, bool) {
	base, ok := strings.CutSuffix(path.Base(file), ".conda")
	if !ok {
		if base, ok = strings.CutSuffix(path.Base(file), ".tar.bz2"); !ok {
			return "", false
		}
	}
	for range 2 { // build, then version
		i := strings.LastIndexByte(base, '-')
		if i <= 0 {
			return "", false
		}
		base = base[:i]
	}
	return base, true
}

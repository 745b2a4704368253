package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/hpcenv/hpcenv/cache/credential"
)

// oci makes t the place of a blob. A channel in a registry has one repository per
// package, <channel>/<subdir>/<name>; the archive is a blob of it, whose name is
// the archive's own digest, so that no manifest need be asked for.
func oci(t *Target, u *url.URL, sha256 string) error {
	name, ok := packageName(u.Path)
	if !ok {
		return fmt.Errorf("%s: a package in a registry must be called NAME-VERSION-BUILD.conda or .tar.bz2", t.Shown)
	}
	if name[0] == '_' {
		name = "zzz" + name // a repository's name begins with a letter or digit
	}
	repository := strings.ToLower(strings.Trim(path.Join(path.Dir(u.Path), name), "/"))
	t.URL = &url.URL{Scheme: "https", Host: u.Host, Path: "/v2/" + repository + "/blobs/sha256:" + sha256}
	t.OCI = true
	return nil
}

// Tokens answers the challenges of registries: it is an http.RoundTripper that
// asks for a token where a registry wants one, with the user's credential for the
// registry, and keeps the token for the next request.
type Tokens struct {
	client *auth.Client
}

// registryKey is the context's key of the host that a request is meant for.
type registryKey struct{}

// Tokens returns the answerer; all that it sends goes through client.
func (a *Access) Tokens(client *http.Client) *Tokens {
	guarded := *client
	guarded.Transport = &realmGuard{next: client.Transport, credentials: a.Credentials}
	return &Tokens{client: &auth.Client{
		Client: &guarded,
		Cache:  auth.NewCache(),
		Credential: func(_ context.Context, host string) (auth.Credential, error) {
			c, _ := a.Credentials.Lookup(&url.URL{Scheme: "https", Host: host})
			secret, _ := c.Reveal()
			switch c.Kind() {
			case credential.Basic:
				return auth.Credential{Username: c.User(), Password: secret}, nil
			case credential.Bearer:
				return auth.Credential{AccessToken: secret}, nil
			}
			return auth.EmptyCredential, nil
		},
		// Which addresses may be asked is the host policy's to say, at every
		// connection.
		BlockedRealmPrefixes: []netip.Prefix{},
	}}
}

var pulls = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/v2/(.+)/blobs/`) })

// RoundTrip implements http.RoundTripper. Redirects are followed.
func (t *Tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := context.WithValue(req.Context(), registryKey{}, req.URL)
	if m := pulls().FindStringSubmatch(req.URL.Path); m != nil {
		ctx = auth.AppendScopesForHost(ctx, req.URL.Host, auth.ScopeRepository(m[1], auth.ActionPull))
	}
	resp, err := t.client.Do(req.WithContext(ctx))
	var refused *errcode.ErrorResponse
	if errors.As(err, &refused) {
		// Who gives out tokens said no, or not now: that is the answer.
		return &http.Response{
			StatusCode: refused.StatusCode, Status: http.StatusText(refused.StatusCode), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: http.NoBody, Request: req,
		}, nil
	}
	return resp, plainError(err)
}

// plainError takes addresses off an error of the exchange: they name what a
// registry chose, and the message names the place already.
func plainError(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// realmGuard keeps a registry from having a user's password sent elsewhere: a
// realm on another host gets it only if it is that host's own credential too.
type realmGuard struct {
	next        http.RoundTripper
	credentials *credential.Set
}

// RoundTrip implements http.RoundTripper.
func (g *realmGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	registry, _ := req.Context().Value(registryKey{}).(*url.URL)
	if registry == nil || req.Header.Get("Authorization") == "" || credential.SameOrigin(registry, req.URL) {
		return g.next.RoundTrip(req)
	}
	user, password, basic := req.BasicAuth()
	if basic {
		own, _ := g.credentials.Lookup(req.URL)
		if secret, _ := own.Reveal(); own.Kind() == credential.Basic && own.User() == user && secret == password {
			return g.next.RoundTrip(req)
		}
	}
	bare := req.Clone(req.Context())
	bare.Header.Del("Authorization")
	return g.next.RoundTrip(bare)
}

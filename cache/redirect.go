package cache

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/hpcenv/hpcenv/cache/credential"
)

// maxRedirects is how many hops one request follows.
const maxRedirects = 10

// credentialHeaders are the headers that let somebody in, or help to.
var credentialHeaders = []string{"Authorization", "Cookie", "X-Amz-Security-Token", "X-Amz-Date", "X-Amz-Content-Sha256"}

// checkRedirect lets no credential and no trace of the address that a redirect
// came from reach another origin. A chain that once left its origin has left it
// for good: who sent it back may have chosen the address.
func checkRedirect(next *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	next.Header.Del("Referer")
	left := !credential.SameOrigin(via[0].URL, next.URL)
	for _, r := range via[1:] {
		left = left || !credential.SameOrigin(via[0].URL, r.URL)
	}
	if left {
		for _, h := range credentialHeaders {
			next.Header.Del(h)
		}
	}
	return nil
}

// locationGuard refuses a redirect to what is no URL before package net/http does,
// whose message would quote it: addresses of that kind are signed.
type locationGuard struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (g *locationGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		if _, perr := url.Parse(to); perr != nil {
			return nil, errors.Join(errors.New("the server redirects to what is no URL"), resp.Body.Close())
		}
	}
	return resp, nil
}

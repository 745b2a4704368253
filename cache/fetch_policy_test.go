package cache

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRedirectsCarryNoCredentials(t *testing.T) {
	s, data := newStore(t), noise(100)
	var got http.Header
	cdn := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
	}))
	var user string
	front := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ = r.BasicAuth()
		http.Redirect(w, r, cdn.URL+"/signed", http.StatusFound)
	}))
	u := strings.Replace(front.URL, "//", "//me:secret@", 1) + "/a"
	if _, _, err := s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, u), nil); err != nil {
		t.Fatal(err)
	}
	if user != "me" {
		t.Errorf("the first host got user %q", user)
	}
	if got.Get("Authorization") != "" || got.Get("Referer") != "" {
		t.Errorf("the second host got %v", got)
	}
}

func TestHostPolicyHoldsForEveryHop(t *testing.T) {
	data := noise(100)
	var hits atomic.Int32
	inner := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
	}))
	front := serve(t, http.RedirectHandler(inner.URL, http.StatusFound))
	host := func(raw string) string {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	named := strings.Replace(inner.URL, "127.0.0.1", "localhost", 1)
	for _, c := range []struct {
		name, url string
		allow     []string
		ok        bool
	}{
		{"by address", inner.URL, nil, false},
		{"by name", named, nil, false},
		{"by redirect", front.URL, []string{host(front.URL)}, false},
		{"allowed hosts and ports", front.URL, []string{host(front.URL), host(inner.URL)}, true},
		{"allowed host", named, []string{"localhost"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			hits.Store(0)
			f := quick(FetchOptions{AllowHost: RefusePrivate(c.allow...)})
			_, _, err := newStore(t).Fetch(context.Background(), f, sourceOf(data, FormatConda, c.url), nil)
			if c.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "a loopback address") {
				t.Errorf("got %v", err)
			}
			if hits.Load() != 0 {
				t.Error("the refused host was asked")
			}
		})
	}
}

// TestProxyIsTheOperatorsChoice: the host policy does not hold for the proxy
// itself, but for a target that is written as an address.
func TestProxyIsTheOperatorsChoice(t *testing.T) {
	data := noise(100)
	var asked []string
	proxy := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Host)
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
	}))
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := quick(FetchOptions{AllowHost: RefusePrivate(), Transport: &http.Transport{Proxy: http.ProxyURL(u)}})
	s := newStore(t)
	_, _, err = s.Fetch(context.Background(), f, sourceOf(data, FormatConda, "http://10.0.0.1/a"), nil)
	if !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "a private address") || len(asked) != 0 {
		t.Errorf("asked for %v, got %v", asked, err)
	}
	if _, _, err := s.Fetch(context.Background(), f, sourceOf(data, FormatConda, "http://conda.example/a"), nil); err != nil {
		t.Error(err)
	}
	if len(asked) != 1 || asked[0] != "conda.example" {
		t.Errorf("the proxy was asked for %v", asked)
	}
}

func TestRefusePrivate(t *testing.T) {
	policy := RefusePrivate("mirror.example:8080", "inner.example")
	for _, c := range []struct {
		host, ip string
		ok       bool
	}{
		{"a.example:443", "8.8.8.8", true},
		{"a.example:443", "2001:4860:4860::8888", true},
		{"a.example:443", "127.0.0.1", false},
		{"a.example:443", "::1", false},
		{"a.example:443", "::ffff:127.0.0.1", false},
		{"a.example:443", "10.1.2.3", false},
		{"a.example:443", "172.31.0.1", false},
		{"a.example:443", "192.168.0.1", false},
		{"a.example:443", "fd00::1", false},
		{"a.example:443", "169.254.169.254", false},
		{"a.example:443", "fe80::1", false},
		{"a.example:443", "100.64.0.1", false},
		{"a.example:443", "0.0.0.0", false},
		{"a.example:443", "0.1.2.3", false},
		{"a.example:443", "::", false},
		{"a.example:443", "224.0.0.1", false},
		{"a.example:443", "255.255.255.255", false},
		{"mirror.example:8080", "10.1.2.3", true},
		{"mirror.example:8081", "10.1.2.3", false},
		{"inner.example:1234", "10.1.2.3", true},
		{"xinner.example:1234", "10.1.2.3", false},
	} {
		if err := policy(context.Background(), &url.URL{Host: c.host}, net.ParseIP(c.ip)); (err == nil) != c.ok {
			t.Errorf("%s at %s: %v", c.host, c.ip, err)
		}
	}
}

//go:build linux

package serve

import (
	"fmt"
	"net"
	"net/url"
	"os"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/cache/credential"
	"github.com/hpcenv/hpcenv/cache/mirror"
	"github.com/hpcenv/hpcenv/cache/remote"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/python"
)

// fetcher is what the configuration says of downloads. Interpreters and the sources of
// builds are the site's own, so their hosts need no leave.
func fetcher(conf *config.Config) (*cache.Fetcher, error) {
	c := conf.Fetch
	access := &remote.Access{}
	var rules []mirror.Rule
	for _, m := range c.Mirrors {
		rules = append(rules, mirror.Rule(m))
	}
	var err error
	if access.Mirrors, err = mirror.New(rules); err != nil {
		return nil, fmt.Errorf("%w: fetch.mirrors: %w", config.ErrConfig, err)
	}
	allow := append(c.Allow, access.Mirrors.Hosts()...)
	own := func(location string) {
		if u, err := url.Parse(location); err == nil {
			allow = append(allow, hostPort(u))
		}
	}
	for _, i := range conf.Interpreters {
		for _, a := range append([]python.Archive{{URL: i.URL}}, i.With...) {
			own(a.URL)
		}
	}
	for _, b := range conf.SiteBuilds {
		for _, s := range b.Sources {
			own(s.URL)
		}
	}
	for _, b := range c.Buckets {
		host, err := endpoint(b)
		if err != nil {
			return nil, err
		}
		access.Buckets = append(access.Buckets, remote.Bucket(b))
		allow = append(allow, host...)
	}
	if c.Credentials != "" {
		if access.Credentials, err = credentials(c.Credentials); err != nil {
			return nil, err
		}
	}
	return cache.NewFetcher(cache.FetchOptions{
		AllowHost: cache.RefusePrivate(allow...), Concurrency: c.Parallel, UserAgent: "hpcenvd/" + service.Version(),
		Access: func() (*remote.Access, error) { return access, nil },
	}), nil
}

// endpoint is what a bucket's requests connect to, as host:port.
func endpoint(b config.Bucket) ([]string, error) {
	if b.Endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(b.Endpoint)
	if b.Name == "" || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("%w: fetch.buckets: %q needs a name, and an endpoint that is an http or https URL without credentials", config.ErrConfig, b.Name)
	}
	bucket := *u
	bucket.Host = b.Name + "." + u.Host
	return []string{hostPort(u), hostPort(&bucket)}, nil
}

// hostPort is what a request of a URL connects to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// credentials reads the daemon's own.
func credentials(path string) (*credential.Set, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: fetch.credentials: %w", config.ErrConfig, err)
	}
	if st.Mode()&0o077 != 0 {
		return nil, fmt.Errorf("%w: fetch.credentials: others may read or write %s (mode %04o); chmod 600 it", config.ErrConfig, path, st.Mode().Perm())
	}
	set, err := credential.LoadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: fetch.credentials: %w", config.ErrConfig, err)
	}
	return set, nil
}

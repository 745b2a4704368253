package cache

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/hpcenv/hpcenv/cache/fair"
	"github.com/hpcenv/hpcenv/cache/remote"
)

// FetchOptions are the settings of a Fetcher; a zero field takes the default.
type FetchOptions struct {
	// Retries after the first try that bring nothing new; default 3, negative
	// none. A try that got at least 1 MiB further starts the count anew.
	Retries int
	// Concurrency is the number of transfers at one time; default 8. The work of
	// one client (fair.With) does not take all of them.
	Concurrency int
	// ConnectTimeout is for resolving, connecting and the TLS handshake each;
	// default 10 s.
	ConnectTimeout time.Duration
	// ResponseTimeout is from the request to the answer's header; default 30 s.
	ResponseTimeout time.Duration
	// StallTimeout ends a transfer that brings less than 64 KiB in so long, or
	// nothing at all: others may be waiting for the same archive. Default 60 s.
	StallTimeout time.Duration
	// WaitMin and WaitMax bound the exponential wait between tries; defaults
	// 500 ms and 10 s. A server's Retry-After is followed up to one minute.
	WaitMin, WaitMax time.Duration
	// MaxBytes bounds an archive of unknown size; default 20 GiB.
	MaxBytes int64
	// AllowHost decides about addresses; nil is RefusePrivate().
	AllowHost HostPolicy
	// AllowFile permits file URLs. A daemon, which opens no path that a lock
	// names, leaves it false.
	AllowFile bool
	// Offline: nothing is asked of the network, whatever is wanted.
	Offline bool
	// Access tells mirrors and credentials; nil = none but those that URLs hold.
	// It is called once, when the first archive is wanted that is not there.
	Access func() (*remote.Access, error)
	// UserAgent of the requests; default "hpcenv".
	UserAgent string
	// Transport replaces the HTTP transport's TLS and proxy settings (nil: the
	// system's certificates, the proxies of the environment). Its dialling and
	// time-outs are overridden.
	Transport *http.Transport
}

// maxArchive bounds an archive whose size nobody has told.
const maxArchive = int64(20 << 30)

// Fetcher downloads archives. It may be shared by many goroutines and stores.
type Fetcher struct {
	opt   FetchOptions
	http  *http.Client
	slots *fair.Limiter
	// access and tokens are made when they are first needed.
	access func() (*remote.Access, error)
	// asked: access was made.
	asked  atomic.Bool
	tokens func() (*http.Client, error)
	// proxies holds the host:port of the proxies in use: the operator's choice,
	// therefore outside the host policy.
	proxies sync.Map
}

func orDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// NewFetcher returns a Fetcher with these options.
func NewFetcher(opt FetchOptions) *Fetcher {
	orDefault(&opt.Retries, 3)
	opt.Retries = max(opt.Retries, 0)
	orDefault(&opt.Concurrency, 8)
	orDefault(&opt.ConnectTimeout, 10*time.Second)
	orDefault(&opt.ResponseTimeout, 30*time.Second)
	orDefault(&opt.StallTimeout, 60*time.Second)
	orDefault(&opt.WaitMin, 500*time.Millisecond)
	orDefault(&opt.WaitMax, 10*time.Second)
	orDefault(&opt.MaxBytes, maxArchive)
	if opt.AllowHost == nil {
		opt.AllowHost = RefusePrivate()
	}
	if opt.UserAgent == "" {
		opt.UserAgent = "hpcenv"
	}
	f := &Fetcher{opt: opt, slots: fair.New(opt.Concurrency)}
	f.http = &http.Client{Transport: &locationGuard{f.transport()}, CheckRedirect: checkRedirect}
	f.access = sync.OnceValues(func() (*remote.Access, error) {
		f.asked.Store(true)
		if opt.Access == nil {
			return &remote.Access{}, nil
		}
		return opt.Access()
	})
	f.tokens = sync.OnceValues(func() (*http.Client, error) {
		a, err := f.access()
		if err != nil {
			return nil, err
		}
		return &http.Client{Transport: a.Tokens(f.http)}, nil
	})
	return f
}

// unread is why some of the user's credentials are not known; nil = all are, or none
// was looked for.
func (f *Fetcher) unread() error {
	if !f.asked.Load() {
		return nil
	}
	a, err := f.access()
	if err != nil {
		return nil // whoever asked was told
	}
	return a.Credentials.Unread()
}

// Warnings are one line each about what did not stop the Fetcher so far.
func (f *Fetcher) Warnings() []string {
	if err := f.unread(); err != nil {
		return []string{fmt.Sprintf("credentials of a file that cannot be read are not used: %v", err)}
	}
	return nil
}

// Offline returns a Fetcher with f's options that asks nothing of the network.
func (f *Fetcher) Offline() *Fetcher {
	opt := f.opt
	opt.Offline = true
	return NewFetcher(opt)
}

func (f *Fetcher) transport() *http.Transport {
	var t *http.Transport
	if f.opt.Transport != nil {
		t = f.opt.Transport.Clone()
	} else {
		t = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	if proxy := t.Proxy; proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return f.proxy(r, proxy) }
	}
	t.DialTLSContext, t.DialContext = nil, f.dial
	t.TLSHandshakeTimeout = f.opt.ConnectTimeout
	t.ResponseHeaderTimeout = f.opt.ResponseTimeout
	t.IdleConnTimeout = 30 * time.Second
	t.MaxIdleConnsPerHost = f.opt.Concurrency
	// An archive's bytes are what is hashed: no decoding on the way.
	t.DisableCompression = true
	return t
}

// proxy notes which proxy a request takes. The policy then sees the target only
// if it is written as an address, since the proxy resolves names.
func (f *Fetcher) proxy(r *http.Request, choose func(*http.Request) (*url.URL, error)) (*url.URL, error) {
	p, err := choose(r)
	if err != nil {
		// Its text may quote the proxy's URL, password and all.
		return nil, &refusal{errors.New("the proxy that the environment names for this host (HTTPS_PROXY or HTTP_PROXY) is no URL")}
	}
	if p == nil {
		return nil, nil
	}
	if ip := net.ParseIP(r.URL.Hostname()); ip != nil {
		u := &url.URL{Scheme: r.URL.Scheme, Host: hostPort(r.URL)}
		if err := f.opt.AllowHost(r.Context(), u, ip); err != nil {
			return nil, &refusal{err}
		}
	}
	f.proxies.Store(hostPort(p), true)
	return p, nil
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// dial connects to addr after asking the policy about the very address that
// the connection goes to.
func (f *Fetcher) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{Timeout: f.opt.ConnectTimeout}
	if _, isProxy := f.proxies.Load(addr); !isProxy {
		d.ControlContext = func(ctx context.Context, _, resolved string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return &refusal{err}
			}
			ip := net.IP(ap.Addr().Unmap().WithZone("").AsSlice())
			if err := f.opt.AllowHost(ctx, &url.URL{Host: addr}, ip); err != nil {
				return &refusal{err}
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, addr)
}

// client returns a retrying client for at most tries requests through via, which
// adds each one it makes to *made.
func (f *Fetcher) client(via *http.Client, tries int, made *int) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient:   via,
		RetryWaitMin: f.opt.WaitMin,
		RetryWaitMax: f.opt.WaitMax,
		RetryMax:     tries - 1,
		CheckRetry: func(ctx context.Context, resp *http.Response, err error) (bool, error) {
			var no *refusal
			if errors.As(err, &no) {
				return false, err
			}
			return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
		},
		Backoff: func(low, high time.Duration, n int, resp *http.Response) time.Duration {
			return min(retryablehttp.DefaultBackoff(low, high, n, resp), max(high, time.Minute))
		},
		ErrorHandler:   retryablehttp.PassthroughErrorHandler,
		RequestLogHook: func(retryablehttp.Logger, *http.Request, int) { *made++ },
	}
}

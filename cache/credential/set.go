package credential

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
)

// Set is what was found; nil is the empty one. It may be read by many goroutines.
type Set struct {
	// named holds pixi's entries: a host, host:port, *.domain or s3://bucket/path.
	named map[string]Credential
	// hosts holds netrc's.
	hosts map[string]Credential
	// unread is why netrc's are not there, though there is such a file.
	unread error
	// origins holds uv's, by scheme://host:port.
	origins map[string]Credential
	// aws is for every bucket that has none of its own.
	aws Credential
}

// Lookup returns the credential for u, which must be the URL that is going to be
// asked, after mirrors had their say. Pixi's file comes first (the host itself,
// then *.domain from the longest domain on; of a bucket, the longest path), then
// netrc, then uv's variables.
func (s *Set) Lookup(u *url.URL) (Credential, bool) {
	if s == nil {
		return Credential{}, false
	}
	if u.Scheme == "s3" {
		return s.bucket(u)
	}
	host := strings.ToLower(u.Hostname())
	if host == "" {
		return Credential{}, false
	}
	for _, name := range names(host, u.Port()) {
		if c, ok := s.named[name]; ok {
			return c, true
		}
	}
	if c, ok := s.hosts[host]; ok {
		return c, true
	}
	c, ok := s.origins[origin(u)]
	return c, ok
}

// Unread is why the credentials of a file that is there are not in the set; nil =
// all are. What needs none of them is none the worse.
func (s *Set) Unread() error {
	if s == nil {
		return nil
	}
	return s.unread
}

// names lists what an entry for a host may be called, the best first.
func names(host, port string) []string {
	var out []string
	if port != "" {
		out = append(out, host+":"+port)
	}
	out = append(out, host)
	for domain := host; ; {
		out = append(out, "*."+domain)
		_, rest, more := strings.Cut(domain, ".")
		if !more {
			return out
		}
		domain = rest
	}
}

func (s *Set) bucket(u *url.URL) (Credential, bool) {
	bucket := "s3://" + u.Host
	path := strings.TrimRight(u.Path, "/")
	for {
		for _, name := range []string{bucket + path, bucket + path + "/"} {
			if c, ok := s.named[name]; ok {
				return c, true
			}
		}
		if path == "" {
			return s.aws, s.aws.kind != None
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
}

// origin is scheme, host and port of a URL, the port always there.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// SameOrigin reports whether scheme, host and port of two URLs are equal: only
// then may one see what was meant for the other.
func SameOrigin(a, b *url.URL) bool { return origin(a) == origin(b) }

// Secrets returns every text that gives a credential of the set away.
func (s *Set) Secrets() []string {
	if s == nil {
		return nil
	}
	out := s.aws.Secrets()
	for _, m := range []map[string]Credential{s.named, s.hosts, s.origins} {
		for _, c := range m {
			out = append(out, c.Secrets()...)
		}
	}
	return out
}

// String counts what is there.
func (s *Set) String() string {
	if s == nil {
		return "no credentials"
	}
	n := len(s.named) + len(s.hosts) + len(s.origins)
	if s.aws.kind != None {
		n++
	}
	return fmt.Sprintf("%d credentials", n)
}

// Format implements fmt.Formatter: no verb shows more than String.
func (s *Set) Format(f fmt.State, _ rune) {
	if _, err := io.WriteString(f, s.String()); err != nil {
		return // fmt's own buffer never fails
	}
}

// LogValue implements slog.LogValuer.
func (s *Set) LogValue() slog.Value { return slog.StringValue(s.String()) }

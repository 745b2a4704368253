package cache

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
)

// HostPolicy says whether a fetch may talk to ip on behalf of u, of which Host
// ("host:port") is always set. It is asked for each address that is about to be
// connected to, after resolution and after every redirect, so that neither a
// name nor a redirect leads past it. A refusal is final: no retry.
type HostPolicy func(ctx context.Context, u *url.URL, ip net.IP) error

// RefusePrivate returns the policy that refuses loopback, link-local, private,
// multicast and unspecified addresses, except for what allow lists: "host" (any
// port) or "host:port", as URLs name it.
func RefusePrivate(allow ...string) HostPolicy {
	allow = slices.Clone(allow)
	return func(_ context.Context, u *url.URL, ip net.IP) error {
		if slices.Contains(allow, u.Host) || slices.Contains(allow, u.Hostname()) {
			return nil
		}
		kind := ""
		switch {
		case ip.IsLoopback():
			kind = "a loopback"
		case ip.IsLinkLocalUnicast(), ip.IsLinkLocalMulticast():
			kind = "a link-local"
		case ip.IsPrivate(), sharedRange.Contains(ip):
			kind = "a private"
		case ip.IsUnspecified(), ip.IsMulticast(), thisNetwork.Contains(ip), ip.Equal(net.IPv4bcast):
			kind = "no host's"
		default:
			return nil
		}
		return &HostRefusedError{Host: u.Host, IP: ip, Kind: kind}
	}
}

// HostRefusedError is RefusePrivate's refusal.
type HostRefusedError struct {
	// Host is "host:port" as the URL names it, with the port that it implies.
	Host string
	IP   net.IP
	// Kind of address, e.g. "a private".
	Kind string
}

func (e *HostRefusedError) Error() string {
	return fmt.Sprintf("%s is at %s, %s address, and is not among the allowed hosts", e.Host, e.IP, e.Kind)
}

// AllowAny is the policy of a user who fetches for themself: every address.
func AllowAny(context.Context, *url.URL, net.IP) error { return nil }

// Ranges that package net has no name for: RFC 6598 (carriers' NAT) and RFC 1122.
var (
	sharedRange = &net.IPNet{IP: net.IPv4(100, 64, 0, 0).To4(), Mask: net.CIDRMask(10, 32)}
	thisNetwork = &net.IPNet{IP: net.IPv4(0, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)}
)

// refusal is the error of a policy; it is never retried.
type refusal struct{ err error }

func (r *refusal) Error() string { return "refused by the host policy: " + r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

package remote

import (
	"net/url"
	"strings"
)

// Redact returns raw as messages and records may show it: without user and
// password, query and fragment (signed URLs carry secrets there), and without
// the token of a conda channel's "/t/<token>/".
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || tornUser(raw) {
		return "(a URL that cannot be parsed)"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	head, rest, found := cutToken(u.EscapedPath())
	if !found {
		return u.String()
	}
	// The stars are a mark, not part of an address: put in after all else.
	for found {
		var tail string
		head += "/t/***"
		tail, rest, found = cutToken(rest)
		head += tail
	}
	u.Path, u.RawPath = "", ""
	return u.String() + head + rest
}

// tornUser: a user or password with a mark in it that should have been escaped has
// become the host.
func tornUser(raw string) bool {
	_, rest, _ := strings.Cut(raw, "://")
	authority, _, _ := strings.Cut(rest, "/")
	i := strings.IndexAny(authority, "?#")
	return i >= 0 && strings.Contains(authority[i:], "@")
}

// cutToken takes the first /t/<token> out of an escaped path. rest begins with
// the slash after it, or is one.
func cutToken(path string) (head, rest string, found bool) {
	head, after, found := strings.Cut(path, "/t/")
	if !found {
		return path, "", false
	}
	_, rest, _ = strings.Cut(after, "/")
	return head, "/" + rest, true
}

// withoutToken is path without the token that it holds, if any, and the token.
func withoutToken(path string) (plain, token string) {
	head, rest, found := cutToken(path)
	if !found {
		return path, ""
	}
	return head + rest, strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(path, head), "/t/"), rest)
}

// HasCredential reports whether raw itself holds a credential: a user, or a
// conda token.
func HasCredential(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return strings.Contains(raw, "@")
	}
	_, _, token := cutToken(u.EscapedPath())
	return u.User != nil || token
}

package cache

import (
	"net/url"
	"strings"
)

// RedactURL returns raw as messages and records may show it: without user and
// password, query and fragment (signed URLs carry secrets there), and without
// the token of a conda channel's "/t/<token>/".
func RedactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(a URL that cannot be parsed)"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	if rest, ok := strings.CutPrefix(u.Path, "/t/"); ok {
		_, after, _ := strings.Cut(rest, "/")
		u.Path, u.RawPath = "/t/***/"+after, ""
		// The stars are a mark, not part of an address: show them as they are.
		return strings.Replace(u.String(), "%2A%2A%2A", "***", 1)
	}
	return u.String()
}

// redactError takes the URL that net/http puts in front of its errors away:
// messages name it once, redacted.
func redactError(err error) error {
	for {
		ue, ok := err.(*url.Error)
		if !ok {
			return err
		}
		err = ue.Err
	}
}

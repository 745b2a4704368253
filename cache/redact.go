package cache

import (
	"net/url"

	"github.com/hpcenv/hpcenv/cache/remote"
)

// RedactURL returns raw as messages and records may show it: see remote.Redact.
func RedactURL(raw string) string { return remote.Redact(raw) }

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

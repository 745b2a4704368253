// Package credential knows the credentials that a user's own tools keep: netrc,
// the credential file of pixi, uv's variables, AWS's variables and files.
//
// Enters: the environment and these files, which are only read. Leaves: for a
// URL, the credential that its host is to be shown. A credential never prints:
// whatever formats, logs or encodes one gets its kind and where it was found.
package credential

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
)

// Kind is how a credential is shown to a host.
type Kind int

const (
	// None: there is none.
	None Kind = iota
	// Basic: user and password.
	Basic
	// Bearer: a token in the Authorization header.
	Bearer
	// CondaToken: a token in the path, /t/<token>/.
	CondaToken
	// S3: an access key that signs requests.
	S3
	// Unusable: an entry of a kind that this program does not know.
	Unusable
)

func (k Kind) String() string {
	return [...]string{"no credential", "user and password", "bearer token", "conda token", "access key", "credential of an unknown kind"}[k]
}

// Credential is a secret and how it is shown. The zero value is none.
type Credential struct {
	kind Kind
	// user, or the id of an access key.
	user, secret, session string
	from                  string
}

// NewBasic is a user's password. from says where it was found, for messages.
func NewBasic(user, password, from string) Credential {
	return Credential{kind: Basic, user: user, secret: password, from: from}
}

// NewBearer is a token for the Authorization header.
func NewBearer(token, from string) Credential {
	return Credential{kind: Bearer, secret: token, from: from}
}

// NewCondaToken is a token for the path.
func NewCondaToken(token, from string) Credential {
	return Credential{kind: CondaToken, secret: token, from: from}
}

// NewS3 is an access key; session may be "".
func NewS3(id, key, session, from string) Credential {
	return Credential{kind: S3, user: id, secret: key, session: session, from: from}
}

// Kind of the credential.
func (c Credential) Kind() Kind { return c.kind }

// User is the user's name, or the id of an access key.
func (c Credential) User() string { return c.user }

// Reveal returns the secret itself and, of an access key, the session's token.
// It is for what sends it, and nothing else.
func (c Credential) Reveal() (secret, session string) { return c.secret, c.session }

// From is where the credential was found: a path or a variable.
func (c Credential) From() string { return c.from }

// Secrets returns every text that gives the credential away, so that it can be
// taken out of what others wrote.
func (c Credential) Secrets() []string {
	var out []string
	for _, s := range []string{c.secret, c.session} {
		if s == "" {
			continue
		}
		out = append(out, s)
		for _, escaped := range []string{url.QueryEscape(s), url.PathEscape(s)} {
			if escaped != s {
				out = append(out, escaped)
			}
		}
	}
	if c.kind == Basic {
		out = append(out, base64.StdEncoding.EncodeToString([]byte(c.user+":"+c.secret)))
	}
	return out
}

// String is what messages may show.
func (c Credential) String() string {
	if c.kind == None {
		return c.kind.String()
	}
	return c.kind.String() + " from " + c.from
}

// Format implements fmt.Formatter: no verb shows more than String.
func (c Credential) Format(f fmt.State, _ rune) {
	if _, err := io.WriteString(f, c.String()); err != nil {
		return // fmt's own buffer never fails
	}
}

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON implements json.Marshaler: a credential is not for records.
func (c Credential) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

package munge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Headers of HTTP messages that carry credentials.
const (
	// RequestHeader of a request: a credential over its method, path and body.
	RequestHeader = "Hpcenv-Munge"
	// ReplyHeader of a reply: a credential over the request it answers, its status
	// and body, by the daemon's account. Any user can bind the port of a daemon that
	// is down, so an answer without it is not the daemon's.
	ReplyHeader = "Hpcenv-Munge-Reply"
)

// SignRequest makes the credential of a request. path is with the query.
func (m Munge) SignRequest(ctx context.Context, method, path string, body []byte) (string, error) {
	return m.Encode(ctx, requestPayload(method, path, body))
}

// VerifyRequest checks the credential of a request and says who sent it. Errors:
// ErrCredential, ErrUnavailable.
func (m Munge) VerifyRequest(ctx context.Context, credential, method, path string, body []byte) (*Credential, error) {
	c, err := m.Decode(ctx, credential)
	if err != nil {
		return nil, err
	}
	if c.Payload != requestPayload(method, path, body) {
		return nil, fmt.Errorf("%w: it was made for another request", ErrCredential)
	}
	return c, nil
}

// SignReply makes the credential of the answer to the request that came with
// credential.
func (m Munge) SignReply(ctx context.Context, credential string, status int, body []byte) (string, error) {
	return m.Encode(ctx, replyPayload(credential, status, body))
}

// VerifyReply checks that an answer is of the account owner and answers the request
// that was sent with credential. Errors: ErrCredential, ErrUnavailable.
func (m Munge) VerifyReply(ctx context.Context, reply, credential string, status int, body []byte, owner int) error {
	c, err := m.Decode(ctx, reply)
	switch {
	case err != nil:
		return fmt.Errorf("the answer: %w", err)
	case c.UID != owner:
		return fmt.Errorf("the answer: %w: it is of uid %d, hpcenvd runs as uid %d", ErrCredential, c.UID, owner)
	case c.Payload != replyPayload(credential, status, body):
		return fmt.Errorf("the answer: %w: it answers another request", ErrCredential)
	}
	return nil
}

func requestPayload(method, path string, body []byte) string {
	return fmt.Sprintf("hpcenv-request-1 %s %s %s", method, path, digest(body))
}

func replyPayload(credential string, status int, body []byte) string {
	return fmt.Sprintf("hpcenv-reply-1 %s %d %s", digest([]byte(credential)), status, digest(body))
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

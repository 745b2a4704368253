package mungehttp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Headers of messages.
const (
	// RequestHeader of a request: its credential.
	RequestHeader = "Hpcenv-Munge"
	// BodyHeader of a request: the sha256 of its body, which the credential covers. So
	// the sender is known before the body is read.
	BodyHeader = "Hpcenv-Body-Sha256"
	// StatusHeader of an answer in frames: its HTTP status, which the frames cover.
	StatusHeader = "Hpcenv-Status"
	// ReplyHeader of a refusal that is not in frames, since the request's key is not known:
	// a credential of the daemon's account over it.
	ReplyHeader = "Hpcenv-Munge-Reply"
	// InstanceHeader of a refusal: the instance that requests are to be for.
	InstanceHeader = "Hpcenv-Instance"
)

// InstancePath is where anybody may ask for the daemon's instance.
const InstancePath = "/v1/instance"

// Instance is the answer there.
type Instance struct {
	// Instance is a random number in hex, another one whenever the daemon starts.
	Instance string `json:"instance"`
}

// NewInstance makes one.
func NewInstance() string { return hex.EncodeToString(random(16)) }

// lifetime of a credential, in seconds: MUNGE's own default. Those that live longer are
// refused, so a Gate need not remember them longer.
const lifetime = 300

// keyBytes is the length of the key in a request's credential.
const keyBytes = 32

// random bytes; the kernel's generator does not fail.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never returns an error
	return b
}

// sealed is what a request's credential says.
type sealed struct {
	instance string
	digest   string // of what is asked
	key      []byte
}

const requestVersion = "hpcenv-request-2"

func (s sealed) String() string {
	return fmt.Sprintf("%s %s %s %x", requestVersion, s.instance, s.digest, s.key)
}

// unseal reads the payload of a request's credential.
func unseal(payload string) (sealed, error) {
	f := strings.Split(payload, " ")
	if len(f) != 4 || f[0] != requestVersion {
		return sealed{}, errors.New("made for something else than a request to this release of hpcenvd")
	}
	key, err := hex.DecodeString(f[3])
	if err != nil || len(key) != keyBytes {
		return sealed{}, errors.New("without a key")
	}
	return sealed{instance: f[1], digest: f[2], key: key}, nil
}

// asked is the digest of what a request asks; uri is its path with the query, body the
// sha256 of its body.
func asked(method, uri, body string) string {
	return sum(fmt.Appendf(nil, "%s\n%s\n%s", method, uri, body))
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// replyPayload is what the credential of a refusal covers.
func replyPayload(credential string, status int, instance string, body []byte) string {
	return fmt.Sprintf("hpcenv-reply-2 %s %d %s %s", sum([]byte(credential)), status, instance, sum(body))
}

const (
	// maxFrame bounds what one frame carries, in bytes.
	maxFrame = 64 << 10
	// last marks the length of a stream's last frame.
	last = 1 << 31
	// headBytes: length and HMAC.
	headBytes = 4 + sha256.Size
)

// mac of the frame number seq of an answer with a status.
func mac(key []byte, seq uint64, status int, end bool, payload []byte) []byte {
	h := hmac.New(sha256.New, key)
	var head [17]byte
	binary.BigEndian.PutUint64(head[:], seq)
	binary.BigEndian.PutUint64(head[8:], uint64(status))
	if end {
		head[16] = 1
	}
	h.Write(head[:])
	h.Write(payload)
	return h.Sum(nil)
}

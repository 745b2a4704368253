package api

import (
	"errors"
	"fmt"
	"strings"
)

// Exit codes of every hpcenv command, and Error.Code on the wire.
const (
	// ExitDone: done.
	ExitDone = 0
	// ExitFailed: the work failed.
	ExitFailed = 1
	// ExitUsage: what was asked for does not exist or makes no sense.
	ExitUsage = 2
	// ExitNoFit: the environment does not fit the node (or no node).
	ExitNoFit = 3
	// ExitLate: not ready in time.
	ExitLate = 4
	// ExitUnreachable: store or daemon cannot be reached.
	ExitUnreachable = 5
)

// ErrForbidden is the class of refusals of callers who have not the role that it takes.
var ErrForbidden = errors.New("not permitted")

// Errorf makes an Error with an exit code.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// NeedError is what Prepare ends with when archives must come from the user: from
// the user's own files, since the daemon opens no path that a lock names, or from
// servers that want a credential, since the daemon has none of a user's.
// Client.Prepare answers it by itself (it gets the bytes, hands them over, and
// asks again), so users of a Client never see it.
type NeedError struct {
	Archives []Need
}

func (e *NeedError) Error() string {
	names := make([]string, 0, len(e.Archives))
	for _, n := range e.Archives {
		name := n.Location
		if strings.Contains(name, "://") {
			name = n.Package // a URL may hold what is not for messages
		}
		names = append(names, name)
	}
	return "archives must be handed over by the client: " + strings.Join(names, ", ")
}

// Need names one archive that the user must bring.
type Need struct {
	// Package for messages, e.g. "tool-1.0-0".
	Package string `json:"package"`
	// Location exactly as the lock has it: a path, relative to the lock's
	// directory or absolute, or a file URL.
	Location string `json:"location"`
	SHA256   string `json:"sha256"`
	// MD5 as the lock has it; "" = it does not.
	MD5 string `json:"md5,omitempty"`
	// Format is conda or tar.bz2.
	Format string `json:"format,omitempty"`
	// Size in bytes; 0 = not known.
	Size int64 `json:"size,omitempty"`
	// Credential: the archive lies on a server that wants to know who asks, and
	// Refusal is what it said. Without it the archive lies in a file.
	Credential bool   `json:"credential,omitempty"`
	Refusal    string `json:"refusal,omitempty"`
	// Held: somebody of the caller's group has brought it already.
	Held bool `json:"held,omitempty"`
}

// Message is one line of the stream with which POST /v1/prepare answers. Any
// number of events is followed by exactly one line with Need, Result or Error;
// a stream that ends without it was cut off.
type Message struct {
	Event  *Event         `json:"event,omitempty"`
	Need   []Need         `json:"need,omitempty"`
	Result *PrepareResult `json:"result,omitempty"`
	Error  *Error         `json:"error,omitempty"`
}

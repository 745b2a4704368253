// Package munge makes and checks MUNGE credentials with the site's own munged: who
// sent something, on a network where every host has the same key.
//
// Enters: a payload, or a credential. Leaves: a credential, or who made it. The
// programs munge and unmunge are run, so nothing is linked and the daemon's socket is
// where the site's MUNGE has it.
package munge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Error classes.
var (
	// ErrUnavailable: MUNGE is not installed here, or munged does not answer.
	ErrUnavailable = errors.New("MUNGE cannot be used on this host")
	// ErrCredential: a credential that is false, too old, or was used before.
	ErrCredential = errors.New("MUNGE credential refused")
)

// badCredential is the first of munge's exit codes that blame the credential; those
// before it blame the host (munge_enum in munge.h).
const badCredential = 8

// refusal says what an exit code of unmunge means.
func refusal(code int) string {
	switch code {
	case 15:
		return "expired; do the clocks of both hosts agree?"
	case 16:
		return "made in the future; do the clocks of both hosts agree?"
	case 17:
		return "used before"
	case 14:
		return "not of this site's key"
	case 18:
		return "made for another account than the daemon's; is owner= in /etc/hpcenv/hpcenv.conf there the account that hpcenvd runs as?"
	}
	return fmt.Sprintf("not valid (unmunge exit code %d)", code)
}

// timeout bounds one question to munged.
const timeout = 10 * time.Second

// maxCredential bounds a credential in bytes; ours carry a few digests.
const maxCredential = 4096

// Munge is a host's MUNGE.
type Munge struct {
	// Socket of munged; "" = MUNGE's own default.
	Socket string
}

// Credential is what a credential says, as munged vouches for it.
type Credential struct {
	// UID and GID of the process that made it.
	UID, GID int
	Payload  string
	// Lifetime is for how long it counts after it was made.
	Lifetime time.Duration
}

// Encode makes a credential of this process's account over payload. Errors:
// ErrUnavailable.
func (m Munge) Encode(ctx context.Context, payload string) (string, error) {
	return m.encode(ctx, payload)
}

// EncodeFor makes one whose payload only the account uid can read, and that counts for a
// time, in whole seconds. Errors: ErrUnavailable.
func (m Munge) EncodeFor(ctx context.Context, payload string, uid int, lifetime time.Duration) (string, error) {
	// The cipher is named: the payload is not for others.
	return m.encode(ctx, payload, "--cipher=aes128", fmt.Sprintf("--restrict-uid=%d", uid), fmt.Sprintf("--ttl=%d", int(lifetime.Seconds())))
}

func (m Munge) encode(ctx context.Context, payload string, args ...string) (string, error) {
	out, err := m.run(ctx, "munge", payload, args...)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return strings.TrimSpace(out), nil
}

// Decode checks a credential; munged refuses one that was decoded on this host
// before. Errors: ErrCredential, ErrUnavailable.
func (m Munge) Decode(ctx context.Context, credential string) (*Credential, error) {
	if len(credential) > maxCredential || !strings.HasPrefix(credential, "MUNGE:") {
		return nil, fmt.Errorf("%w: not a credential", ErrCredential)
	}
	out, err := m.run(ctx, "unmunge", credential, "--numeric", "--keys=UID,GID,TTL")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= badCredential:
		return nil, fmt.Errorf("%w: %s", ErrCredential, refusal(exit.ExitCode()))
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	// The payload follows an empty line; what stands before it is munged's.
	head, payload, _ := strings.Cut(out, "\n\n")
	fields := map[string]string{}
	for line := range strings.Lines(head) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			fields[key] = strings.TrimSpace(value)
		}
	}
	var c Credential
	c.Payload = payload
	if c.UID, err = strconv.Atoi(fields["UID"]); err == nil {
		c.GID, err = strconv.Atoi(fields["GID"])
	}
	if err == nil {
		var seconds int
		seconds, err = strconv.Atoi(fields["TTL"])
		c.Lifetime = time.Duration(seconds) * time.Second
	}
	if err != nil {
		return nil, fmt.Errorf("%w: unmunge answered %.200q", ErrUnavailable, head)
	}
	return &c, nil
}

// run runs one of MUNGE's programs. What it printed is returned beside an error.
func (m Munge) run(ctx context.Context, name, input string, args ...string) (string, error) {
	path, err := find(name)
	if err != nil {
		return "", err
	}
	if m.Socket != "" {
		args = append(args, "--socket="+m.Socket)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return stdout.String(), fmt.Errorf("%s: %w: %s", path, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// places where MUNGE is installed; root's programs do not look in PATH.
var places = []string{"/usr/bin", "/usr/local/bin", "/opt/munge/bin"}

func find(name string) (string, error) {
	for _, dir := range places {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is in none of %s", name, strings.Join(places, ", "))
}

package munge_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/munge/mungetest"
)

func TestRequestsAndReplies(t *testing.T) {
	ctx := context.Background()
	m := mungetest.Start(t)
	body := []byte(`{"a":1}`)
	cred, err := m.SignRequest(ctx, "PUT", "/v1/x", body)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.VerifyRequest(ctx, cred, "PUT", "/v1/x", body)
	if err != nil || c.UID != os.Getuid() || c.GID != os.Getgid() {
		t.Fatalf("%+v %v", c, err)
	}
	if _, err := m.VerifyRequest(ctx, cred, "PUT", "/v1/x", body); !errors.Is(err, munge.ErrCredential) || !strings.Contains(err.Error(), "used before") {
		t.Errorf("replayed: %v", err)
	}
	for name, change := range map[string]func() (string, string, []byte){
		"method": func() (string, string, []byte) { return "POST", "/v1/x", body },
		"path":   func() (string, string, []byte) { return "PUT", "/v1/y", body },
		"body":   func() (string, string, []byte) { return "PUT", "/v1/x", []byte("{}") },
	} {
		cred, err := m.SignRequest(ctx, "PUT", "/v1/x", body)
		if err != nil {
			t.Fatal(err)
		}
		method, path, b := change()
		if _, err := m.VerifyRequest(ctx, cred, method, path, b); !errors.Is(err, munge.ErrCredential) {
			t.Errorf("another %s: %v", name, err)
		}
	}

	reply := func() string {
		r, err := m.SignReply(ctx, cred, 200, body)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if err := m.VerifyReply(ctx, reply(), cred, 200, body, os.Getuid()); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"another owner":   m.VerifyReply(ctx, reply(), cred, 200, body, os.Getuid()+1),
		"another status":  m.VerifyReply(ctx, reply(), cred, 500, body, os.Getuid()),
		"another request": m.VerifyReply(ctx, reply(), cred+"x", 200, body, os.Getuid()),
		"a request's":     m.VerifyReply(ctx, cred, cred, 200, body, os.Getuid()),
	} {
		if !errors.Is(err, munge.ErrCredential) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFalseCredentials(t *testing.T) {
	ctx := context.Background()
	m, other := mungetest.Start(t), mungetest.Start(t)
	theirs, err := other.Encode(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	for name, cred := range map[string]string{
		"empty": "", "garbage": "MUNGE:AAAA:", "an option": "--help", "long": "MUNGE:" + strings.Repeat("A", 5000), "of another key": theirs,
	} {
		if _, err := m.Decode(ctx, cred); !errors.Is(err, munge.ErrCredential) {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone := munge.Munge{Socket: "/nonexistent/s"}
	if _, err := gone.Encode(ctx, "x"); !errors.Is(err, munge.ErrUnavailable) {
		t.Errorf("no munged: %v", err)
	}
	if _, err := gone.Decode(ctx, theirs); !errors.Is(err, munge.ErrUnavailable) {
		t.Errorf("no munged: %v", err)
	}
}

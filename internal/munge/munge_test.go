package munge_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/munge/mungetest"
)

func TestACredentialCountsOnce(t *testing.T) {
	ctx := context.Background()
	m := mungetest.Start(t)
	cred, err := m.EncodeFor(ctx, "what is said", os.Getuid(), 2*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Decode(ctx, cred)
	if err != nil || c.UID != os.Getuid() || c.GID != os.Getgid() || c.Payload != "what is said" || c.Lifetime != 2*time.Minute {
		t.Fatalf("%+v %v", c, err)
	}
	if _, err := m.Decode(ctx, cred); !errors.Is(err, munge.ErrCredential) || !strings.Contains(err.Error(), "used before") {
		t.Errorf("replayed: %v", err)
	}
}

// What is for one account no other can read.
func TestACredentialIsForOneAccount(t *testing.T) {
	ctx := context.Background()
	m := mungetest.Start(t)
	cred, err := m.EncodeFor(ctx, "a key", os.Getuid()+1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := m.Decode(ctx, cred); !errors.Is(err, munge.ErrCredential) || !strings.Contains(err.Error(), "another account") {
		t.Errorf("%+v %v", c, err)
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

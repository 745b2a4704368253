package fdmsg

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type message struct{ Text string }

func TestMessagesAndFiles(t *testing.T) {
	a, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Conn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Send(a, message{"one"}, f), Send(a, message{"two"}, nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	var got message
	f, err = Receive(b, &got)
	if err != nil || got.Text != "one" || f == nil {
		t.Fatalf("%v, file %v, %v", got, f, err)
	}
	if text, err := io.ReadAll(f); err != nil || string(text) != "content" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err := Receive(b, &got); err != nil || got.Text != "two" || f != nil {
		t.Errorf("%v, file %v, %v", got, f, err)
	}
	// What is longer than a message may be is not taken for a shorter one.
	if err := Send(a, message{strings.Repeat("x", Max)}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Receive(b, &got); err == nil {
		t.Error("a message that was cut short was read")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Receive(b, &got); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

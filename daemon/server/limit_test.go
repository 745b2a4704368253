package server

import (
	"io"
	"net"
	"testing"
	"time"
)

// One host cannot keep others out, and all together cannot have more than there are.
func TestConnectionsAreLimited(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit(inner, 3, 2)
	accepted := make(chan net.Conn, 10)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
		c, err := d.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial("127.0.0.1")
	first := <-accepted
	dial("127.0.0.1")
	<-accepted
	// A third of the same host is closed, one of another is served.
	if _, err := dial("127.0.0.1").Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("a third connection of one host: %v, want it closed", err)
	}
	dial("127.0.0.2")
	<-accepted
	dial("127.0.0.3")
	select {
	case <-accepted:
		t.Fatal("a fourth connection was taken")
	case <-time.After(50 * time.Millisecond):
	}
	// The place of one that ends is given to the next; closing twice frees one.
	for range 2 {
		first.Close()
	}
	(<-accepted).Close()
	dial("127.0.0.4")
	<-accepted
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || err == io.EOF {
		t.Error("Accept goes on")
	}
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout()
}

package server

import (
	"net"
	"net/netip"
	"sync"
)

// limited is a listener with a bound on the connections that are open at once.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	perHost int
	hosts   map[netip.Addr]int
}

// limit bounds the open connections of l: of all, then Accept waits; and of one host,
// then further ones are closed at once.
func limit(l net.Listener, all, perHost int) net.Listener {
	return &limited{Listener: l, slots: make(chan struct{}, all), closed: make(chan struct{}), perHost: perHost, hosts: map[netip.Addr]int{}}
}

// Accept waits for a slot and a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			return nil, err
		}
		if host, ok := l.enter(c); ok {
			return &held{Conn: c, leave: func() { l.leave(host) }}, nil
		}
		if err := c.Close(); err != nil {
			<-l.slots
			return nil, err
		}
	}
}

// Close ends Accept, too.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func (l *limited) enter(c net.Conn) (netip.Addr, bool) {
	var host netip.Addr
	if from, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		host = from.Addr().Unmap()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts[host] >= l.perHost {
		return host, false
	}
	l.hosts[host]++
	return host, true
}

func (l *limited) leave(host netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts[host]--; l.hosts[host] == 0 {
		delete(l.hosts, host)
	}
	<-l.slots
}

// held is a connection that has a slot.
type held struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Close gives the slot back.
func (c *held) Close() error {
	c.once.Do(c.leave)
	return c.Conn.Close()
}

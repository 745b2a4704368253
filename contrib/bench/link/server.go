package main

import (
	"net"
	"net/http"
	"path"
	"sync"
	"time"
)

// server serves the channels on the loopback interface and notes what was asked
// for.
type server struct {
	url  string
	http *http.Server
	mu   sync.Mutex
	asks map[string]int // by base name
}

func serve(dir string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + l.Addr().String(), asks: map[string]int{}}
	files := http.FileServer(http.Dir(dir))
	s.http = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asks[path.Base(r.URL.Path)]++
		s.mu.Unlock()
		files.ServeHTTP(w, r)
	})}
	go s.http.Serve(l) // ends with Close; what it could say shows in the clients
	return s, nil
}

// taken returns what was asked for since the last call.
func (s *server) taken() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asks
	s.asks = map[string]int{}
	return out
}

package main

import (
	"sync"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/slowfs"
)

// extents counts which bytes of files were read, in sectors.
type extents struct {
	mu    sync.Mutex
	seen  map[place]bool
	total int64
}

type place struct {
	path   string
	number int64
}

const sector = 512

func newExtents() *extents { return &extents{seen: map[place]bool{}} }

func (e *extents) add(path string, offset, size int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := offset / sector; s*sector < offset+size; s++ {
		e.seen[place{path, s}] = true
		e.total++
	}
}

// ratio is how often a byte was read, on average; 1 if none was read again.
func (e *extents) ratio() float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return float64(e.total) / float64(len(e.seen))
}

// asking notes operations in their order.
type asking struct {
	mu    sync.Mutex
	list  []string
	begun int // that came before the clock started
}

func (a *asking) add(kind slowfs.Kind, path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, kind.String()+" "+path)
}

func (a *asking) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = len(a.list)
}

// counted are the operations that the node's count has.
func (a *asking) counted(n int64) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list[a.begun : a.begun+int(n)]
}

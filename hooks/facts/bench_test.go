package facts_test

import (
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

func BenchmarkReadLive(b *testing.B) {
	for b.Loop() {
		facts.Read(b.Context(), "/")
	}
}

func BenchmarkReadTree(b *testing.B) {
	root := factstest.Tree(b, "ib-gpu")
	for b.Loop() {
		facts.Read(b.Context(), root)
	}
}

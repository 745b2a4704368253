package materialize

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Merging gives what sorting gives, for few and many lists, long runs and mixed
// ones.
func TestMergeOpsSorts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var all []string
		for i := range rnd.IntN(200) {
			all = append(all, strings.Repeat(string(rune('a'+rnd.IntN(5))), 1+rnd.IntN(3))+fmt.Sprintf("/%d", i))
		}
		lists := make([][]*Op, 1+rnd.IntN(7))
		for _, p := range all {
			i := rnd.IntN(len(lists))
			if rnd.IntN(2) == 0 {
				i = int(p[0]) % len(lists)
			}
			lists[i] = append(lists[i], &Op{Path: p})
		}
		for _, l := range lists {
			slices.SortFunc(l, func(a, b *Op) int { return strings.Compare(a.Path, b.Path) })
		}
		slices.Sort(all)
		var got []string
		for _, op := range mergeOps(lists) {
			got = append(got, op.Path)
		}
		if !slices.Equal(got, all) {
			t.Fatalf("got %q, want %q", got, all)
		}
	}
}

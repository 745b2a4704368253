package materialize

import "container/heap"

// mergeOps merges sorted lists without common paths into one sorted list.
func mergeOps(lists [][]*Op) []Op {
	n := 0
	h := make(opHeap, 0, len(lists))
	for _, l := range lists {
		n += len(l)
		if len(l) > 0 {
			h = append(h, l)
		}
	}
	heap.Init(&h)
	out := make([]Op, 0, n)
	for len(h) > 0 {
		l := h[0]
		// The first list goes on until another one's head comes before its own.
		bound := h.second()
		i := 1
		for i < len(l) && (bound == "" || l[i].Path < bound) {
			i++
		}
		for _, op := range l[:i] {
			out = append(out, *op)
		}
		if h[0] = l[i:]; len(h[0]) == 0 {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
	}
	return out
}

// opHeap holds lists that are not empty, by the path of their first operation.
type opHeap [][]*Op

func (h opHeap) Len() int           { return len(h) }
func (h opHeap) Less(i, j int) bool { return first(h[i]) < first(h[j]) }
func (h opHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *opHeap) Push(x any)        { *h = append(*h, x.([]*Op)) }
func (h *opHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// first is "" for a list that was used up, so that it comes up for removal.
func first(l []*Op) string {
	if len(l) == 0 {
		return ""
	}
	return l[0].Path
}

// second is the path that comes next if the first list is left out; "" = none.
func (h opHeap) second() string {
	switch len(h) {
	case 1:
		return ""
	case 2:
		return h[1][0].Path
	}
	return min(h[1][0].Path, h[2][0].Path)
}

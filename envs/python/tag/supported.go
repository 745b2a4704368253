package tag

import "fmt"

// CPython is what tags ask of the interpreter: CPython 3.Minor.
type CPython struct {
	Minor int
	// FreeThreaded: built without the global interpreter lock (3.13 and later).
	FreeThreaded bool
}

// Set holds the tags that a target takes, in order of preference. The zero
// value takes nothing.
type Set struct {
	order []Tag
	rank  map[Tag]int
}

// Supported returns the tags of a Python on platforms (best first, as
// LinuxPlatforms has them): code for exactly this Python before the stable ABI,
// that before code that needs no ABI, newer Pythons before older, and what is
// for every platform last.
func Supported(python CPython, platforms []string) *Set {
	s := &Set{rank: map[Tag]int{}}
	cp := func(minor int) string { return fmt.Sprintf("cp3%d", minor) }
	py := func(minor int) string { return fmt.Sprintf("py3%d", minor) }
	exact, stable := cp(python.Minor), "abi3"
	if python.FreeThreaded {
		// It cannot load modules of the stable ABI of other builds.
		exact, stable = exact+"t", "abi3t"
	}
	s.each(cp(python.Minor), exact, platforms)
	s.each(cp(python.Minor), stable, platforms)
	s.each(cp(python.Minor), "none", platforms)
	// The stable ABI began with 3.2.
	for minor := python.Minor - 1; minor >= 2; minor-- {
		s.each(cp(minor), stable, platforms)
	}
	generic := func(platforms []string) {
		s.each(py(python.Minor), "none", platforms)
		s.each("py3", "none", platforms)
		for minor := python.Minor - 1; minor >= 0; minor-- {
			s.each(py(minor), "none", platforms)
		}
	}
	generic(platforms)
	everywhere := []string{"any"}
	s.each(cp(python.Minor), "none", everywhere)
	generic(everywhere)
	return s
}

func (s *Set) each(python, abi string, platforms []string) {
	for _, platform := range platforms {
		t := Tag{python, abi, platform}
		if _, there := s.rank[t]; !there {
			s.rank[t] = len(s.order)
			s.order = append(s.order, t)
		}
	}
}

// Tags returns all tags, best first; the caller must not change them.
func (s *Set) Tags() []Tag { return s.order }

// Rank returns the place of a tag, 0 being the best; false if the target does
// not take it.
func (s *Set) Rank(t Tag) (int, bool) {
	n, ok := s.rank[t]
	return n, ok
}

// RankWheel returns the place of the best tag of a wheel; false if the target
// takes none of them.
func (s *Set) RankWheel(w *WheelName) (int, bool) {
	best, fits := 0, false
	for t := range w.Tags() {
		if n, ok := s.Rank(t); ok && (!fits || n < best) {
			best, fits = n, true
		}
	}
	return best, fits
}

// Best returns the index of the wheel to take: the best tag, then the highest
// build tag, then the first. -1 if none fits; nil entries are passed over.
func (s *Set) Best(wheels []*WheelName) int {
	best, rank := -1, 0
	for i, w := range wheels {
		if w == nil {
			continue
		}
		n, ok := s.RankWheel(w)
		if !ok {
			continue
		}
		if best < 0 || n < rank || n == rank && w.Build.Compare(wheels[best].Build) > 0 {
			best, rank = i, n
		}
	}
	return best
}

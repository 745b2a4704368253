package stack

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Shape is what a finished tree is like; conda-meta, which is not the
// packages', does not count.
type Shape struct {
	Files, Dirs, Empty int
	Bytes              int64
	Median, P99        int64
}

// Measure reads a finished tree.
func Measure(tree string) (Shape, error) {
	var s Shape
	var sizes []int64
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "conda-meta":
			return fs.SkipDir
		case d.IsDir():
			s.Dirs++
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		s.Files++
		s.Bytes += st.Size()
		if st.Size() == 0 {
			s.Empty++
		}
		sizes = append(sizes, st.Size())
		return nil
	})
	if err != nil || len(sizes) == 0 {
		return s, err
	}
	slices.Sort(sizes)
	s.Median, s.P99 = sizes[len(sizes)/2], sizes[len(sizes)*99/100]
	return s, nil
}

// Check says how far a tree is from s where that is more than 10%.
func (s Spec) Check(got Shape) error {
	if got.Files < s.Files*95/100 {
		return fmt.Errorf("the tree has %d files, %d were generated", got.Files, s.Files)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"files per directory", float64(got.Files) / float64(got.Dirs), s.PerDir},
		{"share of empty files", float64(got.Empty) / float64(got.Files), s.Empty},
		{"median size", float64(got.Median), float64(s.Median())},
		{"99th percentile of sizes", float64(got.P99), float64(s.P99())},
	} {
		if math.Abs(c.got-c.want) > 0.1*c.want {
			return fmt.Errorf("the tree's %s is %g, wanted is %g", c.what, c.got, c.want)
		}
	}
	return nil
}

package stack

import (
	"math"
)

// Spec says what is generated.
type Spec struct {
	// Name is the first part of all package names.
	Name string
	// Files of all packages together, in Packages packages.
	Files, Packages int
	// PerDir is the mean number of files per directory of the finished tree.
	PerDir float64
	// Empty and Patched are shares of the files: without content, and with a
	// build-time prefix to replace (a tenth of them binary).
	Empty, Patched float64
	// Sizes is the distribution of the sizes of all files, the empty included.
	Sizes []Quantile
}

// Quantile says that a share Q of the files is at most Size bytes.
type Quantile struct {
	Q    float64
	Size float64
}

// measured is the distribution in a tree of numpy, scipy, pandas, matplotlib,
// scikit-learn, jupyterlab, sympy, numba, xarray, dask and h5py as their authors
// ship them (21,814 files, 725 MB, byte-code not counted). Of its largest file
// (a compiler of 179 MB) a third is kept, so that a single file does not decide.
var measured = []Quantile{
	{0, 1}, {0.08, 91}, {0.10, 132}, {0.15, 252}, {0.25, 616}, {0.40, 1299}, {0.50, 2259}, {0.60, 4071}, {0.75, 10831},
	{0.90, 36152}, {0.95, 74770}, {0.98, 178801}, {0.99, 286506}, {0.995, 586608}, {0.999, 2560561}, {0.9999, 24805561}, {1, 60e6},
}

// small are sizes of a tree of which only the number of files matters.
var small = []Quantile{{0, 40}, {1, 400}}

// Python is a real Python stack: a real one's 5.9 files per directory and 7.7%
// empty files.
func Python() Spec {
	return Spec{Name: "bench", Files: 25600, Packages: 110, PerDir: 5.9, Empty: 0.077, Patched: 0.02, Sizes: measured}
}

// Plain has as many files per directory, but only such as are linked.
func Plain() Spec {
	return Spec{Name: "plain", Files: 25600, Packages: 100, PerDir: 5.9, Sizes: small}
}

// Tiny is a stack for tests of the benchmark itself.
func Tiny() Spec {
	return Spec{Name: "tiny", Files: 600, Packages: 12, PerDir: 5.9, Empty: 0.077, Patched: 0.02, Sizes: []Quantile{{0, 1}, {0.5, 2259}, {1, 36152}}}
}

// size is the size at quantile q, between the knots in logarithmic steps.
func (s Spec) size(q float64) int {
	for i := 1; i < len(s.Sizes); i++ {
		a, b := s.Sizes[i-1], s.Sizes[i]
		if q <= b.Q {
			t := (q - a.Q) / (b.Q - a.Q)
			return int(math.Round(math.Exp(math.Log(a.Size) + t*(math.Log(b.Size)-math.Log(a.Size)))))
		}
	}
	return int(s.Sizes[len(s.Sizes)-1].Size)
}

// Median and P99 are the sizes that the files shall have.
func (s Spec) Median() int { return s.size(0.5) }

// P99 is the size that 99% of the files are at most.
func (s Spec) P99() int { return s.size(0.99) }

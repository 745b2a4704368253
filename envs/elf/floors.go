package elf

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Floor is the highest version of a family that a file needs.
type Floor struct {
	// Version without the family: 2.34, 3.4.32.
	Version string `json:"version"`
	// File that needs it, the first by path, and the library that it needs it of.
	File    string `json:"file"`
	Library string `json:"library"`
	// Provided is the highest version that a library of the prefix defines, and By
	// which one; "" = none does, and the node must.
	Provided string `json:"provided,omitempty"`
	By       string `json:"by,omitempty"`
}

// OK tells that the prefix itself has what is needed.
func (f *Floor) OK() bool {
	need, ok := numbers(f.Version)
	have, has := numbers(f.Provided)
	return ok && has && slices.Compare(have, need) >= 0
}

// PageFloor is a page size in bytes: nodes with larger pages cannot load File.
type PageFloor struct {
	Size uint64 `json:"size"`
	File string `json:"file"`
}

// numbered splits a version into family and numbers: GLIBC_2.34 into GLIBC and 2,
// 34. ok is false of others, such as GLIBC_PRIVATE.
func numbered(version string) (family string, n []int, ok bool) {
	i := strings.LastIndexByte(version, '_')
	if i <= 0 {
		return "", nil, false
	}
	n, ok = numbers(version[i+1:])
	return version[:i], n, ok
}

func numbers(s string) (n []int, ok bool) {
	for word := range strings.SplitSeq(s, ".") {
		v, err := strconv.ParseUint(word, 10, 31)
		if err != nil {
			return nil, false
		}
		n = append(n, int(v))
	}
	return n, true
}

// unnumbered are versions of glibc that name what it can do, and the numbered one that
// it can do it from (glibc's NEWS).
var unnumbered = map[string]string{"GLIBC_ABI_DT_RELR": "GLIBC_2.36"}

// leastPage is the smallest page size in bytes of any machine that hpcenv serves. What is
// laid out for smaller ones (data of tests, firmware) is no library of any process, and
// says nothing about nodes.
const leastPage = 4096

// floors finds the highest versions that files need, and that they define.
func (s *Survey) floors(own []Scanned) {
	floors := map[string]*Floor{}
	best := map[string][]int{}
	for _, f := range own {
		for _, need := range f.Facts.Needs {
			for _, v := range need.Versions {
				name := cmp.Or(unnumbered[v.Name], v.Name)
				family, n, ok := numbered(name)
				if ok && !v.Weak && slices.Compare(n, best[family]) > 0 {
					best[family] = n
					floors[family] = &Floor{Version: name[len(family)+1:], File: f.Path, Library: need.Library}
				}
			}
		}
		if p := f.Facts.MaxPage; p >= leastPage && (s.Page == nil || p < s.Page.Size) {
			s.Page = &PageFloor{p, f.Path}
		}
	}
	provided := map[string][]int{}
	for _, f := range own {
		for _, v := range f.Facts.Defines {
			family, n, ok := numbered(v)
			if floor := floors[family]; ok && floor != nil && slices.Compare(n, provided[family]) > 0 {
				provided[family] = n
				floor.Provided, floor.By = v[len(family)+1:], f.Path
			}
		}
	}
	s.Glibc, s.GLIBCXX, s.CXXABI = floors["GLIBC"], floors["GLIBCXX"], floors["CXXABI"]
}

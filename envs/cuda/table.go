// Package cuda is what NVIDIA's drivers, toolkits and GPUs have to do with one
// another: which driver runs which CUDA, which CUDA has code for which GPU.
//
// Enters: a table (cuda.txt, or a site's newer one in the same form), and versions.
// Leaves: answers, each of which may be that the table does not know. No I/O but the
// embedded table.
//
//	table.go    the table
//	parse.go    reading one, and what must hold of it
//	version.go  versions of drivers and of CUDA
//	ask.go      the answers
package cuda

import (
	_ "embed"
	"sync"
	"time"
)

//go:embed cuda.txt
var embedded string

// Default is the table that is part of the program.
var Default = sync.OnceValue(func() *Table {
	t, err := Parse("cuda.txt", []byte(embedded))
	if err != nil { // it is part of the program, and a test reads it
		panic("cuda: " + err.Error())
	}
	return t
})

// Table is what is known.
type Table struct {
	// Origin is the file that it is from, Text its content, Digest 16 hex digits over
	// that.
	Origin, Text, Digest string

	sources   []Source
	toolkits  []toolkit
	families  []family
	computes  []compute
	compats   []compat
	models    []model
	byVersion map[Version]*toolkit
}

// Source of statements.
type Source struct {
	Key string
	// Read is when the statements were read there.
	Read time.Time
	Text string
}

// Name of the table for people and programs: its file, and its digest.
func (t *Table) Name() string { return t.Origin + " " + t.Digest }

// Sources of the table, in its order.
func (t *Table) Sources() []Source { return t.sources }

// toolkit: the first driver that serves this CUDA itself.
type toolkit struct {
	version Version
	driver  Driver
}

// family: the oldest driver that runs all of its toolkits.
type family struct {
	major  int
	driver Driver
}

// compute capability; last and branch are 0 where there is no last one.
type compute struct {
	version Version
	name    string
	first   Version
	last    int
	branch  int
}

// compat: kernel drivers under which the user-mode driver of cuda-compat runs.
type compat struct {
	version  Version
	branches []int
}

// model of GPU, by words of its name.
type model struct {
	words   []string
	compute string
	class   Answer
}

// Answer to a question that the table may not know.
type Answer int

// Answers.
const (
	Unknown Answer = iota
	Yes
	No
)

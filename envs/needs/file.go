package needs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"

	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/requirement"
)

// Errors of reading needs.
var (
	// ErrNone: they are not there. The environment was made by an earlier release, or
	// somebody was interrupted; the next preparation makes them up.
	ErrNone = errors.New("what the environment's files ask of a node is not known")
	// ErrVersion: another release wrote them, in another form.
	ErrVersion = errors.New("what the environment's files ask of a node was written by another release")
	// ErrBroken: the file is no such file.
	ErrBroken = errors.New("what the environment's files ask of a node cannot be read")
)

const (
	// maxFile in bytes; real ones have 100 kB.
	maxFile = 32 << 20
	// maxHead in bytes, of the first line.
	maxHead = 64 << 10
)

// Head is the first line of the file: what a submission compares with nodes.
type Head struct {
	Version   int `json:"version"`
	Extractor int `json:"extractor"`
	// Requirements and Page are those of Needs.
	Requirements []requirement.Requirement `json:"requirements,omitempty"`
	Page         *Page                     `json:"page,omitempty"`
}

// Encode returns the file: a line with the head and one with all. What nobody could read
// again is an ErrTooMuch.
func (n *Needs) Encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := errors.Join(enc.Encode(n.head()), enc.Encode(n)); err != nil {
		return nil, fmt.Errorf("what an environment asks of a node: %w", err)
	}
	if b.Len() > maxFile {
		return nil, fmt.Errorf("%w: %d bytes of it, more than %d", ErrTooMuch, b.Len(), maxFile)
	}
	return b.Bytes(), nil
}

func (n *Needs) head() *Head {
	return &Head{Version: n.Version, Extractor: n.Extractor, Requirements: n.Requirements, Page: n.Page}
}

// Decode reads what Encode wrote. Errors are of class ErrVersion or ErrBroken.
func Decode(data []byte) (*Needs, error) {
	line, rest, err := cut(data)
	if err != nil {
		return nil, err
	}
	head, err := decodeHead(line)
	if err != nil {
		return nil, err
	}
	n := new(Needs)
	if err := json.Unmarshal(rest, n); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if !reflect.DeepEqual(head, n.head()) {
		return nil, fmt.Errorf("%w: its lines do not belong together", ErrBroken)
	}
	for at, facts := range n.Prefix.Objects {
		if facts == nil {
			return nil, fmt.Errorf("%w: it has no facts of %s", ErrBroken, at)
		}
	}
	return n, nil
}

// cut splits the first line off.
func cut(data []byte) (line, rest []byte, err error) {
	line, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || len(line) > maxHead {
		return nil, nil, fmt.Errorf("%w: its first line has no end", ErrBroken)
	}
	return line, rest, nil
}

func decodeHead(line []byte) (*Head, error) {
	h := new(Head)
	if err := json.Unmarshal(line, h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if h.Version != Version {
		return nil, fmt.Errorf("%w: it is of version %d, this program reads %d", ErrVersion, h.Version, Version)
	}
	for _, r := range h.Requirements {
		if r.Spec == "" || r.Source != requirement.Files {
			return nil, fmt.Errorf("%w: a requirement of its is none of files", ErrBroken)
		}
	}
	if h.Page != nil && h.Page.Size <= 0 {
		return nil, fmt.Errorf("%w: its page size is %d", ErrBroken, h.Page.Size)
	}
	return h, nil
}

// Load reads the needs at path. Errors are of class ErrNone, ErrVersion or ErrBroken, or
// the storage's; they name the path.
func Load(path string) (*Needs, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrBroken, maxFile)
	}
	n, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// LoadHead reads the head of the needs at path, and no more. Errors are as Load's.
func LoadHead(path string) (*Head, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	data, err := bufio.NewReader(io.LimitReader(f, maxHead+1)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	line, _, err := cut(data)
	if err == nil {
		var h *Head
		if h, err = decodeHead(line); err == nil {
			return h, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

func open(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return f, err
}

// Current tells whether this program would write needs in the same form, from the same
// facts.
func (h *Head) Current() bool { return h.Version == Version && h.Extractor == elf.Extractor }

package smoke

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// mark begins the lines that are ours: a node's own scripts may print others.
const mark = "hpcenv-smoke: "

// Begin says where and what will be tried.
type Begin struct {
	Node        string `json:"node"`
	Job         string `json:"job,omitempty"`
	Environment string `json:"environment,omitempty"`
	Platform    string `json:"platform"`
	ID          string `json:"id"`
	Prefix      string `json:"prefix"`
	// Modules are all that will be tried.
	Modules int `json:"modules"`
}

// End comes when all were tried.
type End struct {
	// Findings of the checks before a launch that may be the reason why modules
	// failed; nil = nothing failed.
	Findings []preflight.Finding `json:"findings,omitempty"`
	Notes    []string            `json:"notes,omitempty"`
}

// line is one of ours; one of its fields is there.
type line struct {
	Begin  *Begin  `json:"begin,omitempty"`
	Result *Result `json:"result,omitempty"`
	End    *End    `json:"end,omitempty"`
}

// Encoder writes lines, each at once.
type Encoder struct {
	W  io.Writer
	mu sync.Mutex
}

// Begin writes the first line.
func (e *Encoder) Begin(b Begin) error { return e.write(line{Begin: &b}) }

// Result writes the line of a module.
func (e *Encoder) Result(r Result) error { return e.write(line{Result: &r}) }

// End writes the last line.
func (e *Encoder) End(x End) error { return e.write(line{End: &x}) }

func (e *Encoder) write(l line) error {
	var b bytes.Buffer
	b.WriteString(mark)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.W.Write(b.Bytes())
	return err
}

// Report is what came of a node.
type Report struct {
	Begin   *Begin
	Results []Result
	// End is nil if it did not come to that.
	End *End
}

// maxLine bounds a line in bytes.
const maxLine = 1 << 20

// Read takes lines until r ends; others are passed to other. began is called when the
// first of ours is there. The error is of a line that is ours and cannot be read.
func Read(r io.Reader, began func(Begin), other func(string)) (*Report, error) {
	out := new(Report)
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	for scan.Scan() {
		text, ours := strings.CutPrefix(scan.Text(), mark)
		if !ours {
			other(scan.Text())
			continue
		}
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return out, fmt.Errorf("what the node tells cannot be read: %w: %.80q", err, text)
		}
		switch {
		case l.Begin != nil:
			out.Begin = l.Begin
			began(*l.Begin)
		case l.Result != nil:
			out.Results = append(out.Results, *l.Result)
		case l.End != nil:
			out.End = l.End
		}
	}
	if err := scan.Err(); err != nil {
		return out, fmt.Errorf("what the node tells cannot be read: %w", err)
	}
	return out, nil
}

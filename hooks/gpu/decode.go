package gpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Decode reads what the child printed: one Report as JSON and nothing else. The
// error wraps ErrAnswer.
func Decode(b []byte) (*Report, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fmt.Errorf("%w: it printed nothing", ErrAnswer)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("%w: %w: %.80q", ErrAnswer, err, b)
	}
	if head.Version != ReportVersion {
		return nil, fmt.Errorf("%w: it has version %d, not %d; next: install hpcenv-gpu from the release that hpcenv is of", ErrAnswer, head.Version, ReportVersion)
	}
	r := new(Report)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: there is more after the report", ErrAnswer)
	}
	if err := r.plausible(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return r, nil
}

// plausible refuses what no driver says.
func (r *Report) plausible() error {
	if !slices.Contains([]string{StateOK, StateNoLibrary, StateBroken, StateFailed}, r.State) {
		return fmt.Errorf("%q is no state", r.State)
	}
	if r.Vendor == "" {
		return errors.New("it names no vendor")
	}
	seen := map[int]bool{}
	for _, g := range r.GPUs {
		if g.Index < 0 || seen[g.Index] {
			return fmt.Errorf("GPU %d is there twice, or has no index", g.Index)
		}
		seen[g.Index] = true
	}
	return nil
}
